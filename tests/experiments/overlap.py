#!/usr/bin/env python3
"""overlap.py [PEERS...]: how many pages are fetched by more than one crawler, without coordination and with it, for 3, 5 and 10 of them or as many as
are named (Du, Xu, Wang, table 2; Luo et al., experiments a and b). Crawlers share out the seeds, follow links anywhere, and stop at a number of pages: each
at its part of it where they know nothing of each other, the swarm at the whole. Which pages they meet is their own affair, as it was there."""
from common import *

counts = [int(word) for word in sys.argv[1:]] or [3, 5, 10]
room = folder()
PAGES = int(os.environ.get("PAGES", 4000))
WANTED = PAGES * 6 // 10
FAST = ["--host-delay", "100ms", "--ip-delay", "0s"]


def crawled(web, since):
    """Distinct pages, pages fetched by more than one crawler, and fetches beyond the first, since the log had so many lines."""
    times = pages(web.requests()[since:])
    return len(times), sum(1 for n in times.values() if n > 1), sum(times.values()) - len(times)


def wait(swarms, most):
    """Until all have as many pages as they want, or nothing is left."""
    begun = time.time()
    ready = lambda told: told["done"] or told["fetched"] >= most
    while time.time() - begun < 300 and not all(ready(swarm.progress(0)) for swarm in swarms):
        time.sleep(.2)
    return time.time() - begun


def begin(peer, seeds, most):
    return [peer.post("crawl", {"seeds": seeds, "scope": "any", "max_pages": most})["crawl"]]


def run(web, seeds, count, apart):
    own, since = os.path.join(room, f"{count}{'apart' if apart else ''}"), len(web.requests())
    os.mkdir(own)
    if apart:
        swarms = []
        for number in range(count):
            folder = os.path.join(own, str(number))
            os.mkdir(folder)
            swarms.append(Swarm(folder, [web], 1, [*FAST, "--offline"]))
        for number, swarm in enumerate(swarms):
            swarm.crawls = begin(swarm.peers[0], seeds[number::count], WANTED // count)
    else:
        swarms = [Swarm(own, [web], count, FAST)]
        swarms[0].settle()
        swarms[0].crawls = begin(swarms[0].peers[0], seeds, WANTED)
    took = wait(swarms, WANTED // count if apart else WANTED)
    distinct, shared, again = crawled(web, since)
    for swarm in swarms:
        swarm.stop()
    told = {"peers": count, "coordinated": not apart, "distinct_pages": distinct, "fetched_by_several": shared, "fetched_again": again,
            "overlap": shared / max(distinct, 1), "seconds": round(took, 1)}
    say(told)
    return told


web = generated(room, int(os.environ.get("HOSTS", 200)), PAGES)
hosts = sorted({urllib.parse.urlsplit(page).hostname for page in web.truth["pages"]})
seeds = [f"http://{host}/" for host in hosts][::10]
results = [run(web, seeds, count, apart) for count in counts for apart in (True, False)]
paper = [{"of": "Du, Xu, Wang, table 2", "peers": 5, "overlap": 66 / 724}, {"of": "Du, Xu, Wang, table 2", "peers": 10, "overlap": 491 / 1464},
         {"of": "Luo et al., experiment a", "peers": 3, "overlap": .041}]
write("overlap", {"pages_wanted": WANTED, "hosts": len(hosts), "results": results, "papers": paper})

plot, axes = figure(5.5, 3.2)
places = range(len(counts))
share = lambda apart: [100 * next(r["overlap"] for r in results if r["peers"] == n and r["coordinated"] != apart) for n in counts]
axes.bar([x - .2 for x in places], share(True), .4, label="apart")
axes.bar([x + .2 for x in places], share(False), .4, label="a swarm")
known = [(x, 100 * one["overlap"]) for x, n in enumerate(counts) for one in paper if one["peers"] == n]
axes.plot([x - .2 for x, _ in known], [y for _, y in known], "kx", label="apart, in the papers")
axes.set_xticks(list(places), [f"{n} peers" for n in counts])
axes.set_ylabel("pages fetched by several (%)")
axes.legend()
save(plot, "overlap")
