#!/usr/bin/env python3
"""polite.py [HOSTS] [PAGES]: one peer crawls hosts that answer late, share addresses, and ask for delays: whether it was polite."""
import sys, time
from harness import *
from yard import *

hosts, count = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 50), (2, 1000)))
room = folder()
arguments = ["--preset", "polite", "--hosts", str(hosts), "--pages", str(count), "--addresses", "10"]
web = Web(room, "polite", ["serve", *arguments])
web.arguments = arguments
peer = alone(room, web, ["--host-delay", "200ms", "--ip-delay", "200ms"])
say(crawl(peer, web))
say(f"{len(web.requests())} requests")
polite(web, 200, 200)
say("ended", peer.stop())
