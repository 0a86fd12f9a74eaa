#!/usr/bin/env python3
"""share.py [PAGES] [alone]: five peers of unequal speed; the first holds four fifths of 200 hosts, the last is a quarter as fast as the others.
How long until all is fetched with contracts, beside what could be at best; `alone`: the same by hashing alone."""
import sys, time
from harness import *

numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
size, alone = numbers[0] if numbers else 4000, "alone" in sys.argv
speeds, parts = [8, 8, 8, 8, 2], [160, 10, 10, 10, 10]
room = folder()
web = generated(room, 1500, size * 1500 // 200)
settings = "[contracts]\nenabled = %s\nthreshold = \"20s\"\n" % ("false" if alone else "true")
swarm = Swarm(room, [web], 0, ["--host-delay", "500ms", "--ip-delay", "0s"], settings)
usual = swarm.config
for number, speed in enumerate(speeds):
    swarm.config = os.path.join(room, f"p{number}.toml")
    with open(swarm.config, "w") as file:
        file.write(open(usual).read() + f"[limits]\nrequests_per_s = {speed}.0\n")
    swarm.add()


def status(peer):
    told = peer.status()
    return told["slots"]["held"], told["urls"]["queued"], told["urls"]["fetched"], told["sites"]["contracted_in"], told["contracts"]


say("settled after %.0f s, held %s" % swarm.settle())
time.sleep(10)
names = sorted({urllib.parse.urlsplit(page).hostname for page in web.truth["pages"]})
chosen, at = collections.defaultdict(list), {peer.status()["peer_id"]: number for number, peer in enumerate(swarm.peers)}
for name in names:
    holder = at[swarm.peers[0].get(f"explain?url=http://{name}/")["holder"]]
    if len(chosen[holder]) < parts[holder]:
        chosen[holder].append(name)
hosts = {name for part in chosen.values() for name in part}
web.truth["pages"] = [page for page in web.truth["pages"] if urllib.parse.urlsplit(page).hostname in hosts]
web.seeds, web.scope = [f"http://{name}/" for name in sorted(hosts)], "host"
say("hosts by holder", [len(chosen[number]) for number in range(len(speeds))], "pages", len(web.truth["pages"]))
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
before = [status(peer) for peer in swarm.peers]
say("contracts done", sum(one[4]["done"] for one in before), "failed", sum(one[4]["failed"] for one in before), "open", sum(one[4]["open"] for one in before))
time.sleep(30)
say("held", [one[0] for one in before], "half a minute later", [peer.status()["slots"]["held"] for peer in swarm.peers])
say("ended", swarm.stop())
