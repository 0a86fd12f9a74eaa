#!/usr/bin/env python3
"""stop.py [PEERS]: each peer in turn is told to end while all crawl, and started again; what was fetched twice because of it."""
import sys, time
from harness import *

count = int(sys.argv[1]) if len(sys.argv) > 1 else 4
room = folder()
web = generated(room, 200, 16000)
swarm = Swarm(room, [web], count, ["--host-delay", "100ms", "--ip-delay", "0s"])
say("settled after %.0f s, held %s" % swarm.settle())
swarm.crawl()
begun = time.time()
for peer in swarm.peers:
    time.sleep(4)
    swarm.monitor()
    flying = peer.status()["fetch"]["in_flight"]
    say(f"peer {peer.number}, {flying} in flight: exit code %s after %.1f s" % peer.stop())
    time.sleep(6)
    others = [one for one in swarm.peers if one.is_alive()]
    if "--bootstrap" not in peer.arguments:
        peer.arguments = [*peer.arguments, "--bootstrap", others[0].address()]
    peer.start()
while time.time() - begun < 600 and not swarm.progress(0)["done"]:
    time.sleep(3)
    swarm.monitor(0)
say(f"done {swarm.progress(0)['done']} after {time.time() - begun:.0f} s")
say("fetched again", compare([web]))
polite(web, 100, 0)
say("ended", swarm.stop())
