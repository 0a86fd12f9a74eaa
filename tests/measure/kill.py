#!/usr/bin/env python3
"""kill.py [PEERS] [KILLED] [AFTER]: a swarm crawls, peers are killed after so many pages, and what becomes of the crawl is shown."""
import sys, threading, time
from harness import *


def ask(swarm, since):
    """Says what queries say is missing, now and then."""
    last, asked, slowest, said = None, 0, 0, 0
    while True:
        try:
            answer = swarm.peers[1].search("the")
        except OSError as error:
            answer = {"coverage": {"complete": None, "slots_missing": None, "documents_missing": str(error)}, "took_ms": 0}
        coverage, asked, slowest = answer["coverage"], asked + 1, max(slowest, answer["took_ms"])
        told = (coverage["complete"], coverage["slots_missing"] == 0)
        # What was just fetched and is not indexed yet is missing too: that goes up and down while the crawl goes on.
        if told != last or time.time() - said > 10:
            say(f"{time.time() - since:.1f} s after the kill: complete {told[0]}, slots missing {coverage['slots_missing']}, "
                f"documents missing {coverage['documents_missing']}, {asked} asked until now, slowest {slowest:.0f} ms")
            last, said = told, time.time()
        time.sleep(0.25)


def most_before(peers, seconds=1):
    """The most permits outstanding and changes not replicated that these peers told of in a second: they go on while they are asked."""
    begun, most = time.time(), (0, 0)
    while time.time() - begun < seconds:
        told = [peer.status() for peer in peers]
        now = sum(s["fetch"]["in_flight"] for s in told), sum(s["slots"]["changes_missing"] for s in told)
        most = tuple(map(max, most, now))
    return most


count, killed, after = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 8), (2, 2), (3, 3000)))
room = folder()
all = webs(room)
swarm = Swarm(room, all, count, ["--host-delay", "100ms", "--ip-delay", "0s"])
say("settled after %.0f s, held %s" % swarm.settle())
swarm.crawl()
begun = time.time()
dead = []
while time.time() - begun < 900:
    time.sleep(3)
    swarm.monitor()
    fetched = sum(s["urls"]["fetched"] for s in swarm.statuses() if s)
    if not dead and fetched >= after:
        # Not the founder, nor whom the crawl was asked of.
        dead = swarm.peers[-killed:]
        for peer in dead:
            told = peer.status()
            say(f"kills peer {peer.number}: {told['urls']['fetched']} pages, {told['fetch']['in_flight']} in flight, "
                f"{told['slots']['changes_missing']} changes not replicated")
        permits, unsent = most_before(dead)
        for peer in dead:
            peer.kill()
        at = time.time()
        threading.Thread(target=ask, args=(swarm, at), daemon=True).start()
    progress = swarm.progress()
    if progress["done"]:
        break
say(f"done {progress['done']} after {time.time() - begun:.0f} s" + (f", {time.time() - at:.0f} s after the kill" if dead else ""))
again = compare(all)
if dead:
    say(f"fetched again {again}; permits outstanding {permits}, changes not replicated {unsent}")
found(all, swarm.peers[1])
for peer in swarm.peers:
    if peer not in dead:
        say(f"peer {peer.number} took {peer.forced()} slots by force")
say("ended", swarm.stop())
