#!/usr/bin/env python3
"""harvest.py [PEERS...]: of the first pages that a crawl about a topic fetches, how many are on topic: with 1 to 6 levels, and breadth-first. WIKI is
a folder of the Wikispeedia articles as a web (hosts/HOST/PATH and manifest.tsv with the categories of each URL). Models learn from 30 pages of the topic
and 60 others, which do not count as harvest; beside what peers fetch are drawn what best-first (by how relevant the linking page is) and an oracle
would fetch on the same graph, one page after the other. DRAWS, TOPICS and LEVELS (0: breadth-first) say how much of it is done."""
import heapq, html, random
from common import *

counts = [int(word) for word in sys.argv[1:]] or [1]
room, wiki = folder(), os.environ.get("WIKI") or sys.exit("WIKI must be set: see the head of this file")
SEED = "http://countries.test/wiki/United_States.html"
AT = (250, 500, 1000)
TOPICS = {"Biology": "subject.Science.Biology", "Music": "subject.Music"}
DRAWS = range(int(os.environ.get("DRAWS", 3)))
LEVELS = [int(n) for n in os.environ.get("LEVELS", "0 1 2 3 4 5 6").split()]
FAST = ["--host-delay", os.environ.get("DELAY", "10ms"), "--ip-delay", "0s", "--allow-private"]
ANTHILL = os.path.join(BIN, "anthill")

of = {}  # categories of each page
for line in open(os.path.join(wiki, "manifest.tsv"), encoding="utf-8"):
    page, categories = line.rstrip("\n").split("\t")
    of[canonical(page)] = categories
del of["url"]


def path(page):
    host, folder, rest = page.removeprefix("http://").split("/", 2)
    return os.path.join(wiki, "hosts", host, folder, rest.replace("/", "_"))


links = {page: [canonical(html.unescape(to)) for to in re.findall(r'<a href="([^"]+)"', open(path(page), encoding="utf-8").read())] for page in of}
reached, waiting = {SEED}, [SEED]
while waiting:
    for to in links[waiting.pop()]:
        if to in links and to not in reached:
            reached.add(to)
            waiting.append(to)


def trained(name, topic, draw):
    """A model, and the pages that it learned from."""
    chosen = random.Random(draw)
    on = chosen.sample(sorted(topic & reached), 30)
    off = chosen.sample(sorted(reached - topic), 60)
    base = os.path.join(room, f"{name}{draw}")
    for kind, some in (("on", on), ("off", off)):
        os.makedirs(os.path.join(base, kind))
        for number, page in enumerate(some):
            shutil.copy(path(page), os.path.join(base, kind, f"{number}.html"))
    file = os.path.join(base, "model")
    subprocess.run([ANTHILL, "topic", "train", "--on", os.path.join(base, "on"), "--off", os.path.join(base, "off"), "--out", file],
                   check=True, capture_output=True)
    return file, sorted(on), sorted(off)


def relevances(model):
    told = subprocess.run([ANTHILL, "topic", "judge", model, os.path.join(wiki, "hosts")], check=True, capture_output=True, text=True)
    lines = (line.split("\t") for line in told.stdout.splitlines())
    return {f"http://{os.path.relpath(file, os.path.join(wiki, 'hosts'))}": float(p) for p, _, file in lines}


def centrally(worth):
    """Pages in the order of one who fetches the best that was found, the oldest of those that are as good."""
    heap, found, order = [(0, 0, SEED)], {SEED}, []
    while heap and len(order) < AT[-1]:
        page = heapq.heappop(heap)[2]
        order.append(page)
        for to in links[page]:
            if to in links and to not in found:
                found.add(to)
                heapq.heappush(heap, (-worth(page, to), len(found), to))
    return order


def crawled(web, model, levels, count):
    own, since = tempfile.mkdtemp(dir=room), len(web.requests())
    settings = f'[topic]\nmodel = "{model}"\nlevels = {levels}\n' if levels else ""
    swarm = Swarm(own, [web], count, FAST, settings)
    if count > 1:
        swarm.settle()
    begun = time.time()
    swarm.crawls = [swarm.peers[0].post("crawl", {"seeds": [SEED], "scope": "any", "max_pages": AT[-1]})["crawl"]]
    enough = lambda told: told["done"] or told["fetched"] >= AT[-1]
    while time.time() - begun < 600 and not enough(swarm.progress(0)):
        time.sleep(.2)
    took = time.time() - begun
    by_peer = [status["urls"]["fetched"] for status in swarm.statuses()]
    swarm.stop()
    shutil.rmtree(own)
    entries = web.requests()[since:]
    order = [canonical(url(entry)) for entry in entries if entry["path"] != "/robots.txt" and entry["status"] == 200]
    return order, took, by_peer


def harvest(order, topic, learned):
    return [round(sum(page in topic and page not in learned for page in order[:n]) / n, 4) for n in AT]


web = Web(room, "wiki", ["folder", wiki])
results, models = [], []
for name in os.environ.get("TOPICS", " ".join(TOPICS)).split():
    topic = {page for page, categories in of.items() if TOPICS[name] in categories}
    for draw in DRAWS:
        model, on, off = trained(name, topic, draw)
        models.append({"topic": name, "draw": draw, "on": on, "off": off})
        learned, p = {*on, *off}, relevances(model)
        for how, worth in (("best-first", lambda page, _: p.get(page, 0)), ("oracle", lambda _, to: to in topic)):
            results.append({"topic": name, "draw": draw, "how": how, "harvest": harvest(centrally(worth), topic, learned)})
            say(results[-1])
        for count in counts:
            for levels in LEVELS:
                order, took, by_peer = crawled(web, model, levels, count)
                how = f"{levels} levels" if levels else "breadth-first"
                results.append({"topic": name, "draw": draw, "how": how, "peers": count, "harvest": harvest(order, topic, learned),
                                "seconds": round(took, 1), "by_peer": by_peer, "again": len(order) - len(set(order))})
                say(results[-1])

means = {}
for one in results:
    means.setdefault((one["topic"], one["how"], one.get("peers", 0)), []).append(one["harvest"])
means = [{"topic": topic, "how": how, "peers": count, "harvest": [round(sum(n) / len(n), 3) for n in zip(*all)]}
         for (topic, how, count), all in means.items()]
for one in means:
    say(one)
write("harvest", {"at": AT, "seed": SEED, "reached": len(reached), "means": means, "results": results, "models": models})

plot, axes = figure(4 * len({one["topic"] for one in means}), 3.2, columns=len({one["topic"] for one in means}))
for axis, name in zip([axes] if len({one["topic"] for one in means}) == 1 else axes, dict.fromkeys(one["topic"] for one in means)):
    for one in (one for one in means if one["topic"] == name):
        peers = f", {one['peers']} peers" if one["peers"] > 1 else ""
        axis.plot(AT, one["harvest"], ":" if not one["peers"] else "-", marker=".", label=one["how"] + peers)
    axis.set_title(name)
    axis.set_xlabel("pages fetched")
    axis.set_ylim(0, 1)
axis.legend(fontsize=6)
save(plot, "harvest")
