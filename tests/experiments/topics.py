"""Crawls about a topic: a collection of pages as a web of hosts, models of a topic, and how much of what is fetched is on topic."""

import heapq, html, math, random
from common import *

FAST = ["--host-delay", os.environ.get("DELAY", "10ms"), "--ip-delay", "0s", "--allow-private"]
ANTHILL = os.path.join(BIN, "anthill")
# Whether crawls learn what links between kinds of pages are worth.
RULES = "false" if os.environ.get("RULES") == "0" else "true"
PATIENCE = 900
# How often peers find out how able they are, where there are contracts.
INTERVAL = os.environ.get("INTERVAL", "5s")


def categories(wiki):
    """Those of each page of a folder of Wikispeedia's articles."""
    with open(os.path.join(wiki, "manifest.tsv"), encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in list(lines)[1:])
        return {canonical(page): all for page, all in rows}


class Collection:
    """Pages in `base`/hosts/HOST/PATH, and the page where crawls begin."""

    def __init__(self, base, urls, seed):
        self.base, self.seed = base, seed
        self.links = {page: [canonical(html.unescape(to)) for to in re.findall(r"<a href=[\"']([^\"']+)", self.text(page))] for page in urls}
        self.reached, waiting = {seed}, [seed]
        while waiting:
            for to in self.links[waiting.pop()]:
                if to in self.links and to not in self.reached:
                    self.reached.add(to)
                    waiting.append(to)

    def path(self, page):
        host, *rest = page.removeprefix("http://").split("/", 2)
        return os.path.join(self.base, "hosts", host, *rest[:-1], rest[-1].replace("/", "_"))

    def text(self, page):
        return open(self.path(page), encoding="utf-8").read()

    def trained(self, room, name, topic, draw):
        """A model of 30 pages of the topic and 60 others, and which they were."""
        chosen = random.Random(draw)
        on = chosen.sample(sorted(topic & self.reached), 30)
        off = chosen.sample(sorted(self.reached - topic), 60)
        base = os.path.join(room, f"{name}{draw}")
        for kind, some in (("on", on), ("off", off)):
            os.makedirs(os.path.join(base, kind))
            for number, page in enumerate(some):
                shutil.copy(self.path(page), os.path.join(base, kind, f"{number}.html"))
        file = os.path.join(base, "model")
        subprocess.run([ANTHILL, "topic", "train", "--on", os.path.join(base, "on"), "--off", os.path.join(base, "off"), "--out", file],
                       check=True, capture_output=True)
        return file, sorted(on), sorted(off)

    def relevances(self, model):
        """Of each page, by the model."""
        hosts = os.path.join(self.base, "hosts")
        told = subprocess.run([ANTHILL, "topic", "judge", model, hosts], check=True, capture_output=True, text=True)
        lines = (line.split("\t") for line in told.stdout.splitlines())
        return {f"http://{os.path.relpath(file, hosts)}": float(p) for p, _, file in lines}

    def centrally(self, worth, most):
        """Pages in the order of one who fetches the best that was found, the oldest of those that are as good."""
        heap, found, order = [(0, 0, self.seed)], {self.seed}, []
        while heap and len(order) < most:
            page = heapq.heappop(heap)[2]
            order.append(page)
            for to in self.links[page]:
                if to in self.links and to not in found:
                    found.add(to)
                    heapq.heappush(heap, (-worth(page, to), len(found), to))
        return order

    def crawled(self, room, web, model, levels, count, most, threshold=None, words=None):
        """A swarm's crawl of so many pages, breadth-first if there are no levels; about `words`, if there are some, else what the model says; with contracts by
        ability from `threshold` on, if it is given."""
        about = f'query = "{words}"' if words else f'model = "{model}"'
        settings = f'[topic]\n{about}\nlevels = {levels}\nrules = {RULES}\n' if levels else ""
        without = "" if RULES == "true" else " without rules"
        how, contracts, look = f"{levels} levels{' by words' if words else ''}{without}" if levels else "breadth-first", {}, lambda swarm: None
        if threshold is not None:
            settings += f"[contracts]\nenabled = true\nability = {threshold}\nability_interval = \"{INTERVAL}\"\n"
            how, look = f"{how}, contracts from {threshold}", lambda swarm: contracts.update(by_ability(swarm))
        order, seen = crawled(room, web, [self.seed], settings, count, most, look)
        return order, {"how": how, **seen, **({"contracts": contracts} if contracts else {})}


def crawled(room, web, seeds, settings, count, most, look=lambda swarm: None):
    """A crawl of so many pages by so many peers with these settings: URLs in the order of requests, and what else was seen. `look` sees the swarm at
    its end."""
    own, since = tempfile.mkdtemp(dir=room), len(web.requests())
    swarm = Swarm(own, [web], count, FAST, settings)
    if count > 1:
        swarm.settle()
    begun = time.time()
    swarm.crawls = [swarm.peers[0].post("crawl", {"seeds": seeds, "scope": "any", "max_pages": most})["crawl"]]
    enough = lambda told: told["done"] or told["fetched"] >= most
    while time.time() - begun < PATIENCE and not enough(swarm.progress(0)):
        time.sleep(.2)
    took = time.time() - begun
    by_peer = [status["urls"]["fetched"] for status in swarm.statuses()]
    look(swarm)
    swarm.stop()
    shutil.rmtree(own)
    entries = web.requests()[since:]
    order = [canonical(url(entry)) for entry in entries if entry["path"] != "/robots.txt" and entry["status"] == 200]
    return order, {"peers": count, "seconds": round(took, 1), "by_peer": by_peer, "again": len(order) - len(set(order))}


def by_ability(swarm):
    """What became of the contracts of a swarm, by those that gave; and how able its peers are at the end."""
    count, able = collections.Counter(), []
    for peer in swarm.living():
        own, told = peer.get("status")["peer_id"], peer.get("contracts")
        able.append(told["ability"] and round(told["ability"]["whole"], 3))
        for one in told["negotiations"]:
            if one["manager"] == own and any(event["ability"] is not None for event in one["events"]):
                count.update({event["what"] for event in one["events"]})
    return {what: count[what] for what in ("called", "won", "done", "failed", "in_vain")} | {"ability": able}


def harvest(order, topic, learned, at):
    """Of the first pages, for each number in `at`, which part is on topic; pages that the model learned from do not count."""
    return [round(sum(page in topic and page not in learned for page in order[:n]) / n, 4) for n in at]


def mean(numbers):
    return sum(numbers) / len(numbers)
