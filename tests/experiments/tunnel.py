#!/usr/bin/env python3
"""tunnel.py [PEERS...]: crawls of a web where the topic is some steps away, by 1 to 6 levels, breadth-first, and best-first (by how relevant the linking
page is). From each page on topic three chains lead to another, by 0 to 4 pages off topic (so that it is 1 to 5 steps to it, each as likely), which have
words of their own for each distance; all pages link to others that lead nowhere. SEEDS, LEVELS (0: breadth-first) and PAGES say how much of it is done; the
time is that until so many pages were fetched."""
from topics import *

counts = [int(word) for word in sys.argv[1:]] or [1]
SEEDS = range(int(os.environ.get("SEEDS", 10)))
LEVELS = [int(n) for n in os.environ.get("LEVELS", "0 1 2 3 4 5 6").split()]
MOST = int(os.environ.get("PAGES", 1000))
AT = [n for n in (250, 500, 1000, 2000, 4000, 7000) if n <= MOST]
ON_TOPIC, NOWHERE, HOSTS, CHAINS, STEPS = 1500, 9000, 200, 3, 5
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]


def word(kind, number):
    return kind + SYLLABLES[number // len(SYLLABLES)] + SYLLABLES[number % len(SYLLABLES)]


def write_web(base, seed):
    """Writes it; gives the URLs of pages on topic, of all, and where crawls begin."""
    random_ = random.Random(seed)
    kinds, links, hosts = [], [], []  # of pages: steps to the topic (0: on topic; None: nowhere)

    def page(kind):
        kinds.append(kind), links.append([]), hosts.append(random_.randrange(HOSTS))
        return len(kinds) - 1

    topic = [page(0) for _ in range(ON_TOPIC)]
    nowhere = [page(None) for _ in range(NOWHERE)]
    for start in topic:
        for _ in range(CHAINS):
            steps, to = random_.randint(1, STEPS), random_.choice(topic)
            for distance in range(1, steps):
                between = page(distance)
                links[between].append(to)
                to = between
            links[start].append(to)
    url_of = [f"http://h{host}.test/{number}.html" for number, host in enumerate(hosts)]
    for number, kind in enumerate(kinds):
        # Few pages that lead nowhere have most of the links.
        links[number] += [nowhere[int(NOWHERE * random_.random() ** 3)] for _ in range(5 if kind is None else 3)]
        if kind is None and random_.random() < .02:
            links[number].append(random_.choice(topic))
        random_.shuffle(links[number])
        subject, words = random_.randrange(20), []
        for _ in range(80):
            chance = random_.random()
            if kind == 0 and chance < .35:
                words.append(word("topic", random_.randrange(150)))
            elif kind and chance < .15:
                words.append(word(f"step{'abcde'[kind]}", random_.randrange(40)))
            elif kind != 0 and chance < .3:
                words.append(word(f"other{SYLLABLES[subject]}", random_.randrange(100)))
            else:
                words.append(word("common", int(random_.random() ** 2 * 400)))
        folder = os.path.join(base, "hosts", f"h{hosts[number]}.test")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{number}.html"), "w") as file:
            anchors = " ".join(f"<a href='{url_of[to]}'>more</a>" for to in links[number])
            file.write(f"<!DOCTYPE html><html lang=en><title>Page</title><p>{' '.join(words)}</p>{anchors}</html>")
    return {url_of[n] for n in topic}, url_of, url_of[topic[0]]


room, results = folder(), []
for seed in SEEDS:
    base = os.path.join(room, str(seed))
    topic, all_pages, start = write_web(base, seed)
    collection = Collection(base, all_pages, start)
    model, on, off = collection.trained(room, f"model{seed}-", topic, seed)
    learned, p = {*on, *off}, collection.relevances(model)
    order = collection.centrally(lambda page, _: p.get(page, 0), MOST)
    results.append({"seed": seed, "how": "best-first", "harvest": harvest(order, topic, learned, AT)})
    say(results[-1])
    web = Web(room, f"web{seed}", ["folder", base])
    for count in counts:
        for levels in LEVELS:
            order, seen = collection.crawled(room, web, model, levels, count, MOST)
            results.append({"seed": seed, **seen, "harvest": harvest(order, topic, learned, AT)})
            say(results[-1])
    web.process.kill()
    shutil.rmtree(base)

means = {}
for one in results:
    means.setdefault((one["how"], one.get("peers", 0)), []).append(one)
means = [{"how": how, "peers": count, "harvest": [round(mean(n), 4) for n in zip(*(one["harvest"] for one in all))],
          "seconds": round(mean([one.get("seconds", 0) for one in all]), 1)} for (how, count), all in means.items()]


def ratio(of, to, count):
    """How much more of the last pages is on topic, by seed: the geometric mean, and where it lies in 95 of 100 (resampled 10,000 times)."""
    by_seed = lambda how, n: {one["seed"]: one["harvest"][-1] for one in results if one["how"] == how and one.get("peers", 0) == n}
    a, b = by_seed(of, count), by_seed(to, 0 if to == "best-first" else count)
    ratios, draw = [a[seed] / max(b[seed], 1 / MOST) for seed in a], random.Random(1)
    middle = lambda some: math.exp(mean([math.log(max(one, 1e-3)) for one in some]))
    means = sorted(middle(draw.choices(ratios, k=len(ratios))) for _ in range(10_000))
    return {"of": of, "to": to, "peers": count, "ratio": round(middle(ratios), 3), "low": round(means[250], 3), "high": round(means[-250], 3)}


ratios = [ratio("4 levels", to, count) for count in counts for to in ("1 levels", "best-first") if 4 in LEVELS and (to[0] == "b" or 1 in LEVELS)]
for one in means + ratios:
    say(one)
name = "tunnel" if MOST == 1000 else f"tunnel-{MOST}"
write(name, {"at": AT, "means": means, "ratios": ratios, "results": results})
plot, axis = figure(4.5, 3.2)
for one in means:
    peers = f", {one['peers']} peers" if one["peers"] > 1 else ""
    axis.plot(AT, one["harvest"], ":" if not one["peers"] else "-", marker=".", label=one["how"] + peers)
axis.set_xlabel("pages fetched")
axis.set_ylabel("harvest")
axis.legend(fontsize=6)
save(plot, name)
