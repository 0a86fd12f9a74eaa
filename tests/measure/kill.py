#!/usr/bin/env python3
"""kill.py [PEERS] [KILLED] [AFTER]: a swarm crawls, peers are killed after so many pages, and what becomes of the crawl is shown."""
import sys, time
from harness import *

count, killed, after = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 8), (2, 2), (3, 3000)))
room = folder()
all = webs(room)
swarm = Swarm(room, all, count, ["--host-delay", "100ms", "--ip-delay", "0s"])
say("settled after %.0f s, held %s" % swarm.settle())
crawl = swarm.crawl([seed for web in all for seed in web.seeds])
begun = time.time()
dead = []
while time.time() - begun < 900:
    time.sleep(3)
    swarm.monitor(crawl)
    fetched = sum(s["urls"]["fetched"] for s in swarm.statuses() if s)
    if not dead and fetched >= after:
        # Not the founder, nor whom the crawl was asked of.
        dead = swarm.peers[-killed:]
        for peer in dead:
            told = peer.status()
            say(f"kills peer {peer.number}: {told['urls']['fetched']} pages, {told['fetch']['in_flight']} in flight, "
                f"{told['slots']['changes_missing']} changes not replicated")
        permits = sum(peer.status()["fetch"]["in_flight"] for peer in dead)
        unsent = sum(peer.status()["slots"]["changes_missing"] for peer in dead)
        for peer in dead:
            peer.kill()
        at = time.time()
    progress = swarm.progress(crawl)
    if progress["done"]:
        break
say(f"done {progress['done']} after {time.time() - begun:.0f} s" + (f", {time.time() - at:.0f} s after the kill" if dead else ""))
again = compare(all)
if dead:
    say(f"fetched again {again}; permits outstanding {permits}, changes not replicated {unsent}")
for _ in range(40):
    answers = [peer.search("the") for peer in swarm.living()]
    whole = [a["coverage"]["complete"] for a in answers]
    if [*map(bool, whole)].count(True) == len(whole):
        break
    time.sleep(3)
say("coverage", [(a["coverage"]["complete"], a["coverage"].get("documents_missing")) for a in answers])
say("ended", swarm.stop())
