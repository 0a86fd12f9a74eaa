#!/usr/bin/env python3
"""crawl.py [PEERS]: a swarm crawls; what was fetched, how often, and by whom."""
import sys, time
from harness import *

count = int(sys.argv[1]) if len(sys.argv) > 1 else 5
room = folder()
all = webs(room)
swarm = Swarm(room, all, count, ["--host-delay", "100ms", "--ip-delay", "0s"])
say("settled after %.0f s, held %s" % swarm.settle())
swarm.crawl()
begun = time.time()
while time.time() - begun < 900 and not swarm.progress()["done"]:
    time.sleep(3)
    swarm.monitor()
say(f"done {swarm.progress()['done']} after {time.time() - begun:.0f} s")
compare(all)
by = [s["urls"]["fetched"] for s in swarm.statuses()]
say("pages by peer", by, "least allowed", sum(len(w.truth["pages"]) for w in all) // (3 * count))
say("ended", swarm.stop())
