#!/usr/bin/env python3
"""crawl.py [PEERS] [apart]: a swarm crawls; what was fetched, how often, and by whom. With `apart` the peers know nothing of each other: what
is fetched again then is what a swarm spares."""
import builtins, os, sys, time
from harness import *

count = int(sys.argv[1]) if len(sys.argv) > 1 else 5
room = folder()
all = webs(room)
fast = ["--host-delay", "100ms", "--ip-delay", "0s"]
if "apart" in sys.argv:
    swarms = []
    for number in range(count):
        own = os.path.join(room, str(number))
        os.mkdir(own)
        swarms.append(Swarm(own, all, 1, [*fast, "--offline"]))
        swarms[-1].crawl(0)
    begun = time.time()
    while time.time() - begun < 900 and not builtins.all(swarm.progress(0)["done"] for swarm in swarms):
        time.sleep(3)
    say(f"{count} peers apart: done after {time.time() - begun:.0f} s")
    compare(all)
    sys.exit(0)
swarm = Swarm(room, all, count, fast)
say("settled after %.0f s, held %s" % swarm.settle())
swarm.crawl()
begun = time.time()
while time.time() - begun < 900 and not swarm.progress()["done"]:
    time.sleep(3)
    swarm.monitor()
say(f"done {swarm.progress()['done']} after {time.time() - begun:.0f} s")
compare(all)
polite(all[0], 100, 0)
by = [s["urls"]["fetched"] for s in swarm.statuses()]
say("pages by peer", by, "least allowed", sum(len(w.truth["pages"]) for w in all) // (3 * count))
say("ended", swarm.stop())
