#!/usr/bin/env python3
"""idle.py [PEERS] [SECONDS]: a swarm with nothing to do: CPU, memory and bytes on the wire of each peer. Then what as many peers compute that are
the network alone, libp2p with nothing to say: what a wake costs differs by ten times from machine to machine, and theirs is the least there can
be. Needs `cargo build --release -p anthill-dht --examples` too."""
import re, statistics, subprocess, sys, time
from harness import *


REST = os.path.join(BIN, "examples", "rest")
if not os.path.exists(REST):
    sys.exit(f"{REST} is missing: cargo build --release -p anthill-dht --examples")
# They come so many at a time: thirty at once on two processors are too busy to answer each other, and take each other for dead.
AT_ONCE = 10


def anonymous(peer):
    return int(re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{peer.process.pid}/status").read()).group(1)) / 1024


def network_alone(count, seconds):
    """Of a core, by each of as many peers that are the network alone, each connected to all others."""
    peers, addresses = [], []
    for _ in range(count):
        peers.append(subprocess.Popen([REST, *addresses], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        addresses.append(peers[-1].stdout.readline().strip())
    time.sleep(30)
    before = [cpu(peer.pid) for peer in peers]
    time.sleep(seconds)
    cores = [100 * (cpu(peer.pid) - b) / seconds for peer, b in zip(peers, before)]
    for peer in peers:
        peer.stdin.close()
    ended = [peer.wait(20) for peer in peers]
    assert not any(ended), ended
    return cores


def wire():
    """Bytes sent and received over TCP so far, by process; connections that were closed meanwhile count no more."""
    bytes = collections.Counter()
    for pid, _, sent, received in connections():
        bytes[pid] += sent + received
    return bytes


count, seconds = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 10), (2, 300)))
room = folder()
swarm = Swarm(room, [], min(count, AT_ONCE))
while True:
    say(f"{len(swarm.peers)} peers: settled after %.0f s, held %s" % swarm.settle(600))
    if len(swarm.peers) >= count:
        break
    for _ in range(min(AT_ONCE, count - len(swarm.peers))):
        swarm.add()
time.sleep(15 * count)  # copies that others' coming made needless are let go of meanwhile: on one machine, the longer the more they are
threads = lambda: sum((cpu_by_thread(peer.process.pid) for peer in swarm.peers), collections.Counter())
before, sent, by_thread = [cpu(peer.process.pid) for peer in swarm.peers], wire(), threads()
time.sleep(seconds)
after, now = [cpu(peer.process.pid) for peer in swarm.peers], wire()
by_thread = threads() - by_thread
cores = [100 * (b - a) / seconds for a, b in zip(before, after)]
rates = [(now[p.process.pid] - sent[p.process.pid]) / seconds for p in swarm.peers]
memory = [anonymous(peer) for peer in swarm.peers]
beyond = [all - peer.total("anthill_cache_bytes") / 2**20 for all, peer in zip(memory, swarm.peers)]
say("MB of anonymous memory, by peer:", *("%.0f" % one for one in memory))
for name, values, asked in (("% of a core", cores, ".5"), ("bytes a second, both ways", rates, "2,000"),
                            ("MB of anonymous memory beyond caches", beyond, "60")):
    say(f"{name}: mean {statistics.mean(values):.2f}, most {max(values):.2f} (asked less than {asked} at 10 peers)")
share = lambda took: 100 * took / seconds / count
say("of it by thread:", *(f"{name} {share(took):.3f}" for name, took in by_thread.most_common() if share(took) >= .001))
say("ended", swarm.stop())
least = network_alone(count, min(seconds, 120))
say(f"% of a core, the network alone: mean {statistics.mean(least):.2f}, most {max(least):.2f}; "
    f"a peer is {statistics.mean(cores) / statistics.mean(least):.1f} times that")
