#!/usr/bin/env python3
"""cost.py [PEERS] [PAIRS]: what a swarm costs beside a peer alone, over the same web in turn: CPU per page without copies and with one, and
bytes between peers per page. Counted from the beginning of the crawl until all is indexed."""
import statistics, sys, time
from harness import *


def wire(peers):
    """Bytes sent over TCP so far, of connections that are still open."""
    pids = {peer.process.pid for peer in peers}
    listens = {peer.address().split("/tcp/")[1].split("/")[0] for peer in peers}
    return sum(sent for pid, ports, sent, _ in connections() if pid in pids and listens & ports)


def spent(peers):
    return sum(cpu(peer.process.pid) for peer in peers)


def run(room, count, replicas):
    """CPU seconds and bytes between peers, for each page."""
    os.mkdir(room)
    web = webs(room)
    expected = sum(len(one.truth["pages"]) for one in web)
    more = ["--host-delay", "0s", "--ip-delay", "0s", *([] if count > 1 else ["--offline"])]
    swarm = Swarm(room, web, count, more, f"replicas = {replicas}\n")
    swarm.settle()
    time.sleep(60)
    before, sent, begun = spent(swarm.peers), wire(swarm.peers) if count > 1 else 0, time.time()
    swarm.crawl(0)
    while time.time() - begun < 600:
        told = swarm.statuses()
        if swarm.progress(0)["done"] and all(one["idle"] for one in told) and swarm.peers[0].search("the")["coverage"]["complete"]:
            break
        time.sleep(0.5)
    took = time.time() - begun
    took_cpu, sent = spent(swarm.peers) - before, wire(swarm.peers) - sent if count > 1 else 0
    fetched = sum(one["urls"]["fetched"] for one in swarm.statuses())
    swarm.stop()
    for one in web:
        one.process.terminate()
    say(f"{count} peers, {replicas} replicas: {fetched} pages of {expected} in {took:.0f} s, {1e6 * took_cpu / fetched:.0f} us of CPU and "
        f"{sent / fetched:.0f} bytes between peers per page")
    return took_cpu / fetched, sent / fetched


count, pairs = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 4), (2, 3)))
room = folder()
ratios = {1: [], 2: []}
for pair in range(pairs):
    alone, _ = run(os.path.join(room, f"{pair}alone"), 1, 1)
    for replicas in ratios:
        together, _ = run(os.path.join(room, f"{pair}together{replicas}"), count, replicas)
        ratios[replicas].append(together / alone)
for replicas, asked in ((1, "1.10"), (2, "1.25")):
    told = sorted(ratios[replicas])
    say(f"{count} peers with {replicas} replicas: {statistics.median(told):.2f} of a peer alone ({told[0]:.2f} to {told[-1]:.2f}; asked {asked} at 4)")
