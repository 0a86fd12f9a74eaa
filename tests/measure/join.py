#!/usr/bin/env python3
"""join.py [HOSTS]: five peers crawl, two more join and one leaves in good order meanwhile; what was fetched twice or too soon, and
how even the sites are shared."""
import sys, time
from harness import *

hosts = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
room = folder()
web = generated(room, hosts, hosts * 4, "--addresses", "20")
swarm = Swarm(room, [web], 5, ["--host-delay", "200ms", "--ip-delay", "20ms"])
say("settled after %.0f s, held %s" % swarm.settle())
swarm.crawl()
begun, joined, left = time.time(), None, None
while time.time() - begun < 900 and not swarm.progress()["done"]:
    time.sleep(2)
    swarm.monitor()
    fetched = swarm.progress()["fetched"]
    if joined is None and fetched > hosts // 2:
        joined = [swarm.add(), swarm.add()]
        say("two have joined")
    elif joined and left is None and fetched > hosts * 2:
        left = swarm.peers[2].stop()
        say("one has left: exit code %s after %.1f s" % left)
say(f"done {swarm.progress()['done']} after {time.time() - begun:.0f} s")
say("fetched again", compare([web]))
polite(web, 200, 20)
say("settled after %.0f s more, held %s" % swarm.settle(60))
names = sorted({urllib.parse.urlsplit(page).hostname for page in web.truth["pages"]})
holders = collections.Counter(swarm.peers[0].get(f"site/{name}")["holder"] for name in names)
sites = [holders[peer.status()["peer_id"]] for peer in swarm.living()]
mean = sum(sites) / len(sites)
say("sites held", sites, "of", len(names), "differ from their share by", [f"{100 * (one / mean - 1):+.0f} %" for one in sites])
found([web], swarm.peers[1])
say("ended", swarm.stop())
