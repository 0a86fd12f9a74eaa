#!/usr/bin/env python3
"""exclude.py: a moderator excludes a host while five peers crawl, one of them away; how soon it is neither fetched nor found, and who may
take it back; and whom another operator's exclusions bind."""
import sys, threading, time
from harness import *

room = folder()
web = generated(room, 50, 8000)
swarm = Swarm(room, [web], 1, ["--host-delay", "50ms", "--ip-delay", "0s"])
moderator = swarm.peers[0]
trusted = moderator.status()["peer_id"]
settings = open(swarm.config).read()
open(swarm.config, "w").write(f'moderators = ["{trusted}"]\n' + settings)
for _ in range(4):
    swarm.add()
say("settled after %.0f s, held %s" % swarm.settle())
swarm.crawl()
host = urllib.parse.urlsplit(web.truth["pages"][-1]).hostname
other = urllib.parse.urlsplit(web.truth["pages"][0]).hostname
while (swarm.peers[1].search(f"host:{host}", 1)["total"] < 30 or swarm.peers[1].search(f"host:{other}", 1)["total"] < 30):
    time.sleep(1)
away = swarm.peers[4]
say("a peer goes away: %s after %.1f s" % away.stop())
totals = [peer.search(f"host:{host}", 1)["total"] for peer in swarm.living()]
said, answer = time.time(), []
# What it says comes back when its own index is rid of the pages: the others know by then.
saying = threading.Thread(target=lambda: answer.append(moderator.post("exclusions", {"pattern": f"host:{host}", "reason": "asked to"})))
saying.start()
hidden = {}
while len(hidden) < 4 and time.time() - said < 60:
    for peer in swarm.living():
        if peer.number not in hidden and not peer.search(f"host:{host}", 10)["hits"]:
            hidden[peer.number] = time.time() - said
saying.join()
say("the moderator excludes", host, "found before", totals, answer)
say("hidden at", {number: f"{after:.2f} s" for number, after in hidden.items()})
page = next(page for page in web.truth["pages"] if urllib.parse.urlsplit(page).hostname == host)
explain = lambda peer: peer.get("explain?url=" + urllib.parse.quote(page, safe=""))
kept = lambda: sum(told["indexed"] for told in map(explain, swarm.living()))
while kept() and time.time() - said < 120:
    time.sleep(0.5)
say(f"a page of it is in nobody's index {time.time() - said:.1f} s after")
time.sleep(max(0, said + 20 - time.time()))
say("20 s later", [(told["state"], told["indexed"], (told["exclusion"] or {}).get("issuer") == trusted) for told in map(explain, swarm.living())])
late = [e for e in web.requests() if e["host"] == host and e["received_unix_us"] / 1e6 > said + 5]
say(f"requests of it later than 5 s after: {len(late)}")
last = max((e["received_unix_us"] / 1e6 - said for e in web.requests() if e["host"] == host), default=0)
say(f"the last request came {last:.2f} s after")
away.start()
back = time.time()
while away.search(f"host:{host}", 1)["total"] or not any(host in one["pattern"] for one in away.get("exclusions")["exclusions"]):
    time.sleep(0.1)
say(f"who was away has it {time.time() - back:.1f} s after its start")
say("restart of another", swarm.peers[3].stop())
swarm.peers[3].start()
say("it has", [one["pattern"] for one in swarm.peers[3].get("exclusions")["exclusions"]])
try:
    say("another takes it back:", swarm.peers[1].post("exclusions", {"pattern": f"host:{host}", "take_back": True}))
except urllib.error.HTTPError as refused:
    say("another takes it back:", refused.code, refused.read().decode())
say("an operator excludes", other, swarm.peers[2].post("exclusions", {"pattern": f"host:{other}", "scope": "show"}))
time.sleep(5)
found_at = lambda name: {peer.number: peer.search(f"host:{name}", 1)["total"] for peer in swarm.living()}
say("found at", found_at(other))
listed = swarm.peers[2].post("publish", {"kind": "exclusions"})["list"]
swarm.peers[1].post("subscriptions", {"location": "by hand", "list": listed})
time.sleep(2)
say("peer 1 follows its list; found at", found_at(other))
third = next(name for name in map(lambda page: urllib.parse.urlsplit(page).hostname, web.truth["pages"]) if name not in (host, other))
swarm.peers[2].post("exclusions", {"pattern": f"host:{third}", "scope": "show"})
time.sleep(5)
say("it excludes another, of which its list said nothing; found at", found_at(third))
say("the moderator takes it back", moderator.post("exclusions", {"pattern": f"host:{host}", "take_back": True}))
begun = time.time()
while any(any(host in one["pattern"] for one in peer.get("exclusions")["exclusions"]) for peer in swarm.living()) and time.time() - begun < 60:
    time.sleep(0.1)
say(f"gone everywhere {time.time() - begun:.1f} s after")
say("ended", swarm.stop())
