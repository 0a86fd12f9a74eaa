#!/usr/bin/env python3
"""detect.py [PEERS] [TIMES]: a peer of a swarm at rest is killed and started again, then another comes and leaves, again and again: after how
long all others hold the killed one for down, all slots are held again, and the one that came holds its share."""
import sys, time
from harness import *

SLOTS = 16384


def until(patience, is_so):
    begun = time.time()
    while time.time() - begun < patience:
        if is_so():
            return time.time() - begun
        time.sleep(0.1)
    return float("inf")


def all_down(peers, dead):
    """Whether each peer holds all of these for down, or has forgotten them."""
    def living(peer):
        return {one["peer_id"] for one in peer.get("peers")["peers"] if one["state"] in ("alive", "suspect")}
    return not any(living(peer) & dead for peer in peers)


def held(peers):
    return [(status or {"slots": {"held": 0}})["slots"]["held"] for status in (peer.status() for peer in peers)]


def share(peer, patience=240, rest=10):
    """After how long a peer holds 95 % of what it holds when that does not change any more."""
    begun, seen = time.time(), [(0, 0)]
    while time.time() - begun < patience:
        now, holds = time.time() - begun, held([peer])[0]
        if holds != seen[-1][1]:
            seen.append((now, holds))
        elif holds and now - seen[-1][0] > rest:
            break
        time.sleep(0.1)
    return next(at for at, holds in seen if holds >= 0.95 * seen[-1][1]), seen[-1][1]


def come_to_rest(swarm, patience=120):
    """Waits until all is held and each copy made: until then one more loss could be one too many."""
    rests = lambda: all(one and one["slots"]["copies_missing"] == 0 for one in map(Peer.status, swarm.living()))
    still = 0
    for _ in range(patience):
        swarm.settle(patience)
        still = still + 1 if rests() else 0
        if still == 5:
            return
        time.sleep(1)
    say("not at rest")


count, times = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 10), (2, 10)))
room = folder()
swarm = Swarm(room, [], count)
say("settled after %.0f s, held %s" % swarm.settle(600))
time.sleep(30)
downs, helds, joins = [], [], []
for number in range(times):
    victim = swarm.living()[number % 2]
    name = victim.status()["peer_id"]
    victim.kill()
    others = swarm.living()
    downs.append(until(120, lambda: all_down(others, {name})))
    helds.append(until(240, lambda: sum(held(others)) == SLOTS) + downs[-1])
    # One that stays away counts as a member for a day: with the next, most of those that keep a slot would be lost.
    if "--bootstrap" not in victim.arguments:
        victim.arguments = [*victim.arguments, "--bootstrap", others[0].address()]
    victim.start()
    come_to_rest(swarm)
    comer = swarm.add()
    took, slots = share(comer)
    joins.append(took)
    say(f"down everywhere after {downs[-1]:.1f} s, all held after {helds[-1]:.1f} s, another holds its {slots} after {took:.1f} s")
    come_to_rest(swarm)
    left = comer.stop()
    say("it left: exit code %s after %.1f s" % left)
    come_to_rest(swarm)
for name, values, asked in (("down everywhere", downs, "10 s"), ("slots held again", helds, "25 s: 10 and a lease"), ("a joiner holds its share", joins, "15 s")):
    values.sort()
    say(f"{name}: median {values[len(values) // 2]:.1f} s, most of {len(values)} {values[-1]:.1f} s (asked {asked})")
say("ended", swarm.stop())
