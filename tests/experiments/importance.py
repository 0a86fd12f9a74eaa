#!/usr/bin/env python3
"""importance.py [PEERS...]: how important pages are found to be while they are crawled, beside PageRank of the same graph, computed in one place, and the number
of pages that link to a page: rank correlation (Kendall's tau-b) and how many of the first 100 are the same, after each page was visited once, twice and so on;
and how much of a crawl it takes to have the most important tenth of pages, with importance and without. WIKI or DOCWEB is a folder of pages (hosts/HOST/PATH),
DOCWEB_SEEDS a file of where to begin; VISITS says how often pages are visited, FETCHERS how many requests are in flight at most while it is seen how soon a crawl has
the best: where each host may be asked at once there is nothing to choose."""
import numpy
from scipy.stats import kendalltau
from topics import *

counts = [int(word) for word in sys.argv[1:]] or [1]
VISITS = int(os.environ.get("VISITS", 5))
FETCHERS = f"fetchers = {os.environ['FETCHERS']}\n" if os.environ.get("FETCHERS") else ""
DAMPING, ROUNDS = .85, 200
SHARES = [n / 20 for n in range(1, 21)]
room = folder()
collections_ = {}
if os.environ.get("WIKI"):
    collections_["wiki"] = (os.environ["WIKI"], ["http://countries.test/wiki/United_States.html"])
if os.environ.get("DOCWEB"):
    collections_["docweb"] = (os.environ["DOCWEB"], open(os.environ["DOCWEB_SEEDS"]).read().split())
if not collections_:
    sys.exit("WIKI or DOCWEB must be set: see the head of this file")


class Graph:
    """Pages that a peer fetched, and links between them."""

    def __init__(self, peer, room, pages):
        file = os.path.join(room, "links")
        subprocess.run([ANTHILL, "export", "links", file, "--data", peer.data], check=True, capture_output=True)
        with open(file, encoding="utf-8") as lines:
            links = {tuple(map(canonical, line.split("\t")[:2])) for line in lines if "nofollow" not in line.rsplit("\t", 1)[1]}
        self.pages = sorted(pages)
        number = {page: n for n, page in enumerate(self.pages)}
        within = [(number[source], number[target]) for source, target in links if source in number and target in number and source != target]
        self.source, self.target = (numpy.array(side) for side in zip(*within))
        self.number = number

    def pagerank(self):
        n = len(self.pages)
        out = numpy.bincount(self.source, minlength=n)
        rank = numpy.full(n, 1 / n)
        for _ in range(ROUNDS):
            each = numpy.where(out > 0, rank / numpy.maximum(out, 1), 0)
            came = numpy.bincount(self.target, each[self.source], minlength=n)
            rank = (1 - DAMPING) / n + DAMPING * (came + rank[out == 0].sum() / n)
        return rank

    def inlinks(self):
        return numpy.bincount(self.target, minlength=len(self.pages)).astype(float)


def told(swarm, graph):
    """How important each page is: by who has fetched it."""
    values = numpy.zeros(len(graph.pages))
    for peer in swarm.living():
        for n, page in enumerate(graph.pages):
            one = peer.get("explain?" + urllib.parse.urlencode({"url": urllib.parse.quote(page, safe=":/?&=%+,;@!$'()*~")}))
            if one["holder"] in (None, peer.id):
                values[n] = max(values[n], one["importance"])
    return values


def beside(values, rank):
    """Tau-b, and how many of the first 100 are the same."""
    first = lambda of: set(numpy.argsort(-of, kind="stable")[:100])
    return {"tau": round(float(kendalltau(values, rank).statistic), 4), "top_100": len(first(values) & first(rank))}


def visited(name, web, seeds, count):
    """A swarm that visits pages again and again: how far what it finds is what is so."""
    settings = '[revisit]\nfirst = "20s"\nmin = "20s"\nmax = "20s"\n'
    own = tempfile.mkdtemp(dir=room)
    swarm = Swarm(own, [web], count, FAST, settings)
    if count > 1:
        swarm.settle()
    for peer in swarm.peers:
        peer.id = peer.get("status")["peer_id"]
    since = len(web.requests())
    swarm.crawls = [swarm.peers[0].post("crawl", {"seeds": seeds, "scope": "host" if name == "docweb" else "any"})["crawl"]]
    while not swarm.progress(0)["done"]:
        time.sleep(.5)
    graph = graphs[name]
    rank, inlinks = graph.pagerank(), graph.inlinks()
    rows = [{"visits": 0, "how": "inlinks", **beside(inlinks, rank)}]
    say(name, rows[-1])
    for visits in range(1, VISITS + 1):
        enough = lambda: sum(1 for entry in web.requests()[since:] if entry["path"] != "/robots.txt") >= visits * len(graph.pages)
        begun = time.time()
        while not enough() and time.time() - begun < 180:
            time.sleep(1)
        rows.append({"visits": visits, "how": f"{count} peers", **beside(told(swarm, graph), rank)})
        say(name, rows[-1])
    swarm.stop()
    shutil.rmtree(own)
    return rows


def order_of(web, name, seeds, count, important, keep=False):
    """The order in which a whole crawl fetches pages."""
    own, since = tempfile.mkdtemp(dir=room), len(web.requests())
    swarm = Swarm(own, [web], count, FAST, f"importance = {str(important).lower()}\n{FETCHERS}")
    if count > 1:
        swarm.settle()
    swarm.crawls = [swarm.peers[0].post("crawl", {"seeds": seeds, "scope": "host" if name == "docweb" else "any"})["crawl"]]
    while not swarm.progress(0)["done"]:
        time.sleep(.5)
    entries = (entry for entry in web.requests()[since:] if entry["path"] != "/robots.txt" and entry["status"] == 200)
    order = list(dict.fromkeys(canonical(url(entry)) for entry in entries))
    if keep:
        graphs[name] = Graph(swarm.peers[0], own, order)
    swarm.stop()
    shutil.rmtree(own)
    return order


graphs, results = {}, []
for name, (base, seeds) in collections_.items():
    web = Web(room, name, ["folder", base])
    for count in counts:
        for important in (False, True):
            order = order_of(web, name, seeds, count, important, keep=name not in graphs)
            graph = graphs[name]
            rank = graph.pagerank()
            best = {graph.pages[n] for n in numpy.argsort(-rank, kind="stable")[:len(graph.pages) // 10]}
            had = numpy.cumsum([page in best for page in order])
            at = lambda share: round(float(had[int(share * len(order)) - 1]) / len(best), 4)
            whole = round((int(numpy.argmax(had == had[-1])) + 1) / len(order), 4)
            results.append({"collection": name, "peers": count, "important": important, "pages": len(order), "best": len(best), "had": list(map(at, SHARES)),
                            "at_a_third": at(1 / 3), "all_at": whole})
            say(results[-1])
        results += [{"collection": name, "peers": count, **row} for row in visited(name, web, seeds, count)]

write("importance", {"damping": DAMPING, "shares": SHARES, "results": results})
plot, axes = figure(8, 3.2, columns=2)
for one in results:
    label = f"{one['collection']}, {one['peers']} peers"
    if "had" in one:
        axes[0].plot(SHARES, one["had"], "-" if one["important"] else ":", label=f"{label}{', by importance' if one['important'] else ''}")
rows = [one for one in results if "tau" in one]
for key in dict.fromkeys((one["collection"], one["peers"]) for one in rows):
    of = [one for one in rows if (one["collection"], one["peers"]) == key and one["visits"]]
    axes[1].plot([one["visits"] for one in of], [one["tau"] for one in of], marker=".", label=f"{key[0]}, {key[1]} peers")
    axes[1].axhline(next(one["tau"] for one in rows if one["collection"] == key[0] and not one["visits"]), linestyle=":", linewidth=.8)
axes[0].set(xlabel="part of the crawl", ylabel="part of the most important tenth", ylim=(0, 1.05))
axes[1].set(xlabel="visits of each page", ylabel="tau-b with PageRank", ylim=(0, 1))
axes[0].legend(fontsize=6), axes[1].legend(fontsize=6)
save(plot, "importance")
