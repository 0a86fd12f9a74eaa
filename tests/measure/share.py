#!/usr/bin/env python3
"""share.py [PAGES] [alone]: five peers of unequal speed; the first holds four fifths of 200 hosts, the last is a quarter as fast as the others.
How long until all is fetched with contracts, beside what could be at best; `alone`: the same by hashing alone."""
import sys, time
from uneven import *

numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
size, alone = numbers[0] if numbers else 4000, "alone" in sys.argv
speeds = [8, 8, 8, 8, 2]
room = folder()
settings = "[contracts]\nenabled = %s\nthreshold = \"20s\"\n" % ("false" if alone else "true")
swarm, web = uneven(room, size, speeds, [160, 10, 10, 10, 10], settings)


def status(peer):
    told = peer.status()
    return told["slots"]["held"], told["urls"]["queued"], told["urls"]["fetched"], told["sites"]["contracted_in"], told["contracts"]


swarm.crawl()
begun = time.time()
while time.time() - begun < 1200 and not swarm.progress()["done"]:
    time.sleep(5)
    told = [status(peer) for peer in swarm.peers]
    say("queued", [one[1] for one in told], "fetched", [one[2] for one in told], "taken", [one[3] for one in told],
        "contracts", [tuple(one[4].values()) for one in told])
took = time.time() - begun
hosts = collections.Counter(entry["host"] for entry in web.requests())
requests = sum(hosts.values())
longest = max(hosts.values()) * 0.5
best = max(requests / sum(speeds), longest)
say(f"{'hashing alone' if alone else 'contracts'}: {requests} requests in {took:.0f} s, at best {best:.0f} s "
    f"(longest host {longest:.0f} s): {took / best:.2f} times that")
say("fetched again", compare([web]))
polite(web, 500, 0)
time.sleep(15)  # what came by contracts goes back
before = [status(peer) for peer in swarm.peers]
say("contracts done", sum(one[4]["done"] for one in before), "failed", sum(one[4]["failed"] for one in before), "open", sum(one[4]["open"] for one in before))
time.sleep(30)
say("held", [one[0] for one in before], "half a minute later", [peer.status()["slots"]["held"] for peer in swarm.peers])
say("ended", swarm.stop())
