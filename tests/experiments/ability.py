#!/usr/bin/env python3
"""ability.py [PEERS...]: contracts by ability in a crawl about a topic, as in Du, Xu and Wang's table 1 and figures 17 to 20. For each number of peers and each
threshold W from .05 to .5: which part of the first 1,000 pages is on topic, how long they took, and what became of contracts; beside it the same without
contracts, breadth-first, and best-first by one (in order, on the graph). WIKI is a folder as harvest.py has it; TOPIC and DRAWS say what of it is crawled."""
from topics import *

counts = [int(word) for word in sys.argv[1:]] or [5, 10]
room, wiki = folder(), os.environ.get("WIKI") or sys.exit("WIKI must be set: see the head of this file")
MOST, LEVELS = int(os.environ.get("PAGES", 1000)), 4
TOPIC = os.environ.get("TOPIC", "subject.Science.Biology")
DRAWS = range(int(os.environ.get("DRAWS", 1)))
THRESHOLDS = [float(n) for n in os.environ.get("THRESHOLDS", ".05 .1 .15 .2 .25 .3 .35 .4 .45 .5").split()]

of = categories(wiki)
collection = Collection(wiki, of, "http://countries.test/wiki/United_States.html")
topic = {page for page, all in of.items() if TOPIC in all}
web = Web(room, "wiki", ["folder", wiki])
results = []


def crawl(model, learned, draw, count, levels, threshold):
    order, seen = collection.crawled(room, web, model, levels, count, MOST, threshold)
    results.append({"draw": draw, "W": threshold, **seen, "precision": harvest(order, topic, learned, (MOST,))[0]})
    say(results[-1])


for draw in DRAWS:
    model, on, off = collection.trained(room, "topic", topic, draw)
    learned, p = {*on, *off}, collection.relevances(model)
    order = collection.centrally(lambda page, _: p.get(page, 0), MOST)
    results.append({"draw": draw, "W": None, "how": "best-first", "peers": 1, "precision": harvest(order, topic, learned, (MOST,))[0]})
    say(results[-1])
    for count in counts:
        for levels, threshold in [(0, None), (LEVELS, None), *((LEVELS, one) for one in THRESHOLDS)]:
            crawl(model, learned, draw, count, levels, threshold)

write("ability", {"pages": MOST, "topic": TOPIC, "seed": collection.seed, "results": results})
plot, axes = figure(8, 3.2, columns=2)
for axis, what, name in ((axes[0], "precision", "part on topic"), (axes[1], "seconds", f"seconds to {MOST} pages")):
    for count in counts:
        of_count = [one for one in results if one["peers"] == count and what in one]
        point = lambda threshold: mean([one[what] for one in of_count if one["W"] == threshold])
        axis.plot(THRESHOLDS, [point(threshold) for threshold in THRESHOLDS], marker=".", label=f"contracts, {count} peers")
        for how, style in ((f"{LEVELS} levels", "--"), ("breadth-first", ":")):
            axis.axhline(mean([one[what] for one in of_count if one["how"] == how]), linestyle=style, linewidth=.8, label=f"{how}, {count} peers")
    axis.set_xlabel("W")
    axis.set_ylabel(name)
    axis.set_ylim(0)
axes[0].legend(fontsize=6)
save(plot, "ability")
