#!/usr/bin/env python3
"""mischief.py idle|boaster|flooder|none [PAGES]: four honest peers of 8 requests a second, of which the first holds most of what is to be crawled, and a
fifth that is not honest about contracts: it accepts and does nothing, says that it is as fast as can be, or floods the others with calls and bids.
What the four fetch together meanwhile; with `none` they are alone. Needs a build that can be dishonest:
`cargo build --release -p anthill --features mischief`, and `anthill-web` beside it."""
import sys, time
from uneven import *

kind = sys.argv[1] if len(sys.argv) > 1 else "none"
size = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
speeds, parts = [8, 8, 8, 8], [96, 8, 8, 8]
settings = "[contracts]\nenabled = true\nthreshold = \"20s\"\n"
room = folder()
if kind == "none":
    swarm, web = uneven(room, size, speeds, parts, settings)
else:
    swarm, web = uneven(room, size, [*speeds, 8], [*parts, 0], settings, ["env", f"MISCHIEF={kind}"])
    dishonest = "not honest" in open(swarm.peers[4].log).read()
    sys.exit("this build cannot be dishonest; see the top of this file") if not dishonest else None
swarm.crawl()
begun = time.time()
wanted, half = len(web.truth["pages"]), None
# Who never ends a request never says that it is done: the crawl is over when all was fetched.
while time.time() - begun < 1200 and not swarm.progress()["done"]:
    time.sleep(5)
    told = [peer.status() for peer in swarm.peers]
    fetched = [one["urls"]["fetched"] for one in told]
    if sum(fetched[:4]) >= wanted:
        break
    honest = sum(peer.requests() for peer in swarm.peers[:4])
    say("fetched", fetched, "queued", [one["urls"]["queued"] for one in told], "taken", [one["sites"]["contracted_in"] for one in told],
        "contracts", [tuple(one["contracts"].values()) for one in told])
    if half is None and honest >= wanted * .75:
        half = time.time() - begun
        say(f"{kind}: the honest four had made {honest} requests after {half:.0f} s: {honest / half:.1f} a second")
took = time.time() - begun
say(f"{kind}: all over after {took:.0f} s")
say("fetched again", compare([web]))
polite(web, 500, 0)
story = swarm.peers[0].get("contracts")
say("the first peer's contracts:", json.dumps(story)[:3000])
say("ended", swarm.stop())
