#!/usr/bin/env python3
"""cost.py [PEERS] [PAIRS]: what a swarm costs beside a peer alone, over the same web in turn: CPU per page without copies and with one, and
bytes between peers per page. Counted from the beginning of the crawl until nothing is indexed again: both index some pages twice, as links to
them become known. It begins when the peers have come to rest: a swarm that grew lets go of copies for minutes. The peers are seldom looked at,
as each look is computed by each of them. What peers compute at rest is told apart."""
import statistics, sys, time
from harness import *

# Seconds from one look at the peers to the next.
LOOKS = 5
# Peers are at rest that compute less than this, of a core, on average over so many seconds (idle.py: 0.002), or, on machines where a wake costs
# more, three times in turn the same but for a quarter; it is waited for no longer than that.
REST, REST_OVER, REST_WITHIN = 0.0025, 20, 400


def wire(peers):
    """Bytes sent over TCP so far, of connections that are still open."""
    pids = {peer.process.pid for peer in peers}
    listens = {peer.address().split("/tcp/")[1].split("/")[0] for peer in peers}
    return sum(sent for pid, ports, sent, _ in connections() if pid in pids and listens & ports)


def spent(peers):
    """CPU seconds so far, by name of thread; what threads computed that have ended is of no name."""
    total = collections.Counter()
    for peer in peers:
        total.update(cpu_by_thread(peer.process.pid))
    total[""] = sum(cpu(peer.process.pid) for peer in peers) - total.total()
    return total


def at_rest(peers):
    """Waits until the peers have nothing to do; what they compute then, of a core."""
    begun, last = time.time(), collections.deque(maxlen=3)
    while True:
        before, looked = spent(peers).total(), time.time()
        time.sleep(REST_OVER)
        computed = (spent(peers).total() - before) / (time.time() - looked)
        last.append(computed)
        if computed < REST * len(peers) or len(last) == last.maxlen and max(last) <= 1.25 * min(last):
            return computed
        if time.time() - begun > REST_WITHIN:
            say(f"    not at rest: the peers compute {100 * computed:.1f} % of a core")
            return computed


def is_indexing(thread):
    """Whether a thread is of those that index: ours, and tantivy's. Those that end are tantivy's, which begin anew after each commit, and
    some that waited for an answer."""
    return not thread or any(word in thread for word in ("index", "segment", "merge", "thrd-tantivy"))


def indexings(swarm):
    """What was indexed so far, and how."""
    return {name: sum(peer.total(f"anthill_{name}_total") for peer in swarm.peers)
            for name in ("pages_indexed", "pages_refreshed", "index_commits")}


def run(room, count, replicas):
    """CPU seconds of a page: all, without indexing copies, and without indexing."""
    os.mkdir(room)
    web = webs(room)
    expected = sum(len(one.truth["pages"]) for one in web)
    more = ["--host-delay", "0s", "--ip-delay", "0s", *([] if count > 1 else ["--offline"])]
    swarm = Swarm(room, web, count, more, f"replicas = {replicas}\n")
    swarm.settle()
    resting = at_rest(swarm.peers)
    before, sent, begun = spent(swarm.peers), wire(swarm.peers) if count > 1 else 0, time.time()
    swarm.crawl(0)
    indexed_by_then = None
    while time.time() - begun < 600:
        time.sleep(LOOKS)
        if swarm.progress(0)["done"] and all(one["idle"] for one in swarm.statuses()):
            indexed_before, indexed_by_then = indexed_by_then, indexings(swarm)
            if indexed_by_then == indexed_before and swarm.peers[0].search("the")["coverage"]["complete"]:
                break
    took = time.time() - begun
    sent = wire(swarm.peers) - sent if count > 1 else 0
    after = spent(swarm.peers)
    by = {name: seconds - before[name] for name, seconds in after.items()}
    fetched = sum(one["urls"]["fetched"] for one in swarm.statuses())
    swarm.stop()
    for one in web:
        one.process.terminate()
    all_cpu = sum(by.values())
    indexed = sum(seconds for name, seconds in by.items() if is_indexing(name))
    most = sorted(by.items(), key=lambda one: -one[1])[:12]
    say(f"{count} peers, {replicas} replicas: {fetched} pages of {expected} in {took:.0f} s, {1e6 * all_cpu / fetched:.0f} us of CPU, of that "
        f"{1e6 * indexed / fetched:.0f} us of indexing, and {sent / fetched:.0f} bytes between peers per page")
    say("    us a page by thread:", *(f"{name or 'ended'} {1e6 * seconds / fetched:.0f}" for name, seconds in most))
    say("   ", *(f"{name} {told:.0f}" for name, told in (indexed_by_then or {}).items()), f"; {100 * resting:.1f} % of a core at rest")
    # Pages differ in size, but each is indexed by as many peers as keep it.
    of_copies = indexed * (replicas - 1) / replicas
    return all_cpu / fetched, (all_cpu - of_copies) / fetched, (all_cpu - indexed) / fetched


count, pairs = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 4), (2, 3)))
room = folder()
asked = {1: "1.10, all", 2: "1.25, indexing in the background (of copies) counted apart"}
names = ("all", "without indexing copies", "without indexing")
ratios = {replicas: tuple([] for _ in names) for replicas in asked}
for pair in range(pairs):
    alone = run(os.path.join(room, f"{pair}alone"), 1, 1)
    for replicas in ratios:
        together = run(os.path.join(room, f"{pair}together{replicas}"), count, replicas)
        for told, one, other in zip(ratios[replicas], together, alone):
            told.append(one / other)
for replicas, both in ratios.items():
    words = (f"{statistics.median(told):.2f} {name} ({min(told):.2f} to {max(told):.2f})" for name, told in zip(names, both))
    say(f"{count} peers with {replicas} replicas, of a peer alone: {', '.join(words)}; asked at 4: {asked[replicas]}")
