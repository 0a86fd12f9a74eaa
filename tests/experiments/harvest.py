#!/usr/bin/env python3
"""harvest.py [PEERS...]: of the first pages that a crawl about a topic fetches, how many are on topic: with 1 to 6 levels, and breadth-first. WIKI is
a folder of the Wikispeedia articles as a web (hosts/HOST/PATH and manifest.tsv with the categories of each URL). Models learn from 30 pages of the topic
and 60 others, which do not count as harvest; beside what peers fetch are drawn what best-first (by how relevant the linking page is) and an oracle
would fetch on the same graph, one page after the other. DRAWS, TOPICS and LEVELS (0: breadth-first) say how much of it is done; RULES=0 leaves out what the crawl
learns of links between kinds of pages (P3's rules); with ABILITY=W swarms make contracts by ability
from that threshold on; WORDS is an object of JSON with the words of topics, about which crawls are as well, without a model. Pages are answered after LATENCY milliseconds, hosts asked DELAY apart. Results of more than one peer are
named for their numbers."""
from topics import *

counts = [int(word) for word in sys.argv[1:]] or [1]
room, wiki = folder(), os.environ.get("WIKI") or sys.exit("WIKI must be set: see the head of this file")
AT = (250, 500, 1000)
TOPICS = {"Biology": "subject.Science.Biology", "Music": "subject.Music"}
DRAWS = range(int(os.environ.get("DRAWS", 3)))
THRESHOLD = float(os.environ["ABILITY"]) if os.environ.get("ABILITY") else None
WORDS = json.loads(os.environ.get("WORDS", "{}"))
LEVELS = [int(n) for n in os.environ.get("LEVELS", "0 1 2 3 4 5 6").split()]

of = categories(wiki)
collection = Collection(wiki, of, "http://countries.test/wiki/United_States.html")

web = Web(room, "wiki", ["folder", wiki, "--latency-ms", os.environ.get("LATENCY", "0")])
results, models = [], []
for name in os.environ.get("TOPICS", " ".join(TOPICS)).split():
    topic = {page for page, categories in of.items() if TOPICS[name] in categories}
    for draw in DRAWS:
        model, on, off = collection.trained(room, name, topic, draw)
        models.append({"topic": name, "draw": draw, "on": on, "off": off})
        learned, p = {*on, *off}, collection.relevances(model)
        for how, worth in (("best-first", lambda page, _: p.get(page, 0)), ("oracle", lambda _, to: to in topic)):
            results.append({"topic": name, "draw": draw, "how": how, "harvest": harvest(collection.centrally(worth, AT[-1]), topic, learned, AT)})
            say(results[-1])
        for count in counts:
            for levels in LEVELS:
                threshold = THRESHOLD if levels and count > 1 else None
                for words in (None, WORDS[name]) if levels and name in WORDS else (None,):
                    order, seen = collection.crawled(room, web, model, levels, count, AT[-1], threshold, words)
                    results.append({"topic": name, "draw": draw, **seen, "harvest": harvest(order, topic, learned, AT)})
                    say(results[-1])

means = {}
for one in results:
    means.setdefault((one["topic"], one["how"], one.get("peers", 0)), []).append(one["harvest"])
means = [{"topic": topic, "how": how, "peers": count, "harvest": [round(mean(n), 3) for n in zip(*all)]}
         for (topic, how, count), all in means.items()]
for one in means:
    say(one)
name = "-".join(["harvest", *(str(n) for n in counts if counts != [1])])
write(name, {"at": AT, "seed": collection.seed, "reached": len(collection.reached), "means": means, "results": results, "models": models})

plot, axes = figure(4 * len({one["topic"] for one in means}), 3.2, columns=len({one["topic"] for one in means}))
for axis, topic in zip([axes] if len({one["topic"] for one in means}) == 1 else axes, dict.fromkeys(one["topic"] for one in means)):
    for one in (one for one in means if one["topic"] == topic):
        peers = f", {one['peers']} peers" if one["peers"] > 1 else ""
        axis.plot(AT, one["harvest"], ":" if not one["peers"] else "-", marker=".", label=one["how"] + peers)
    axis.set_title(topic)
    axis.set_xlabel("pages fetched")
    axis.set_ylim(0, 1)
axis.legend(fontsize=6)
save(plot, name)
