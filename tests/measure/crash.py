#!/usr/bin/env python3
"""crash.py [KILLS] [SEED]: one peer is killed (SIGKILL) again and again while it crawls real pages; whether the same is there at the end, and
whether more was fetched again than was in flight. Kills fall at a moment drawn by lot, at a flush or compaction of the store, and at a
commit of the index, in turn; who does not come to that within a fifth of a second is killed by time."""
import collections, random, sys, time
from harness import *
from yard import *

kills, seed = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 20), (2, 20261122)))
dice = random.Random(seed)
room = folder()
web = nginx(room)

whole = alone(os.path.join(room, "whole"), web)
say("without kills:", crawl(whole, web))
at_rest(whole)
right = sorted(kept(whole, room))
whole.stop()
before = len(web.requests())


def done_since(data, kind, start_ns):
    """Whether the process that started then has begun a flush or compaction of the store, or committed to the index."""
    if kind == "commit":
        return os.stat(os.path.join(data, "index", "meta.json")).st_mtime_ns > start_ns
    # The store begins a new log with each process.
    return f'"event": "{kind}_started"' in open(os.path.join(data, "db", "LOG"), errors="replace").read()


def wait_for(peer, kind, start_ns, longest):
    """Whether it came."""
    begun = time.time()
    while time.time() - begun < longest:
        if done_since(peer.data, kind, start_ns):
            return True
    return False


start_ns = time.time_ns()
peer = alone(os.path.join(room, "killed"), web)
number = peer.post("crawl", {"seeds": web.seeds, "scope": web.scope})["crawl"]
met, moments, fetched = collections.Counter(), [], 0
for n in range(kills):
    begun = time.time()
    while (peer.status() or {"urls": {"fetched": 0}})["urls"]["fetched"] <= fetched and time.time() - begun < 2:
        pass  # until this life has fetched something, if there is anything left
    kind = ("time", "flush", "compaction", "commit")[n % 4]
    if kind == "time" or not wait_for(peer, kind, start_ns, 0.2):
        kind = "time"
        time.sleep(dice.uniform(0, 0.1))
    fetched = (peer.status() or {"urls": {"fetched": fetched}})["urls"]["fetched"]
    met[kind] += 1
    moments.append(fetched)
    peer.kill()
    start_ns = time.time_ns()
    peer.start()
begun = time.time()
while not (progress := peer.get(f"crawl/{number}"))["done"] and time.time() - begun < 300:
    time.sleep(0.5)
if not progress["done"]:
    say("THE CRAWL IS NOT OVER after 300 s:", progress)
say("at rest:", at_rest(peer)["urls"])
say(f"seed {seed}; killed at {dict(met)}, after so many pages: {moments}")
permits = sum(int(n) for n in re.findall(r"permits[^0-9]{1,12}(\d+)", open(peer.log).read()))
entries = web.requests()[before:]
times = collections.Counter((host, path) for host, path, *_ in entries)
say(f"permits outstanding {permits}; requests {len(entries)}, distinct {len(times)}, repeated {len(entries) - len(times)}")
final = sorted(kept(peer, room))
say(f"final set equal: {final == right}, {len(final)} and {len(right)} pages")
say("ended", peer.stop())
