#!/usr/bin/env python3
"""search.py [PEERS] [QUERIES]: a swarm and a peer alone crawl the same web; whether they answer the same, how fast, and what one peer
that hangs changes."""
import random, sys, time
from harness import *

count, queries = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 5), (2, 200)))
room = folder()
all = webs(room)
fast = ["--host-delay", "10ms", "--ip-delay", "0s"]
swarm = Swarm(room, all, count, fast)
os.mkdir(os.path.join(room, "alone"))
alone = Swarm(os.path.join(room, "alone"), all, 1, fast)
say("settled after %.0f s, held %s" % swarm.settle())
swarm.crawl()
alone.crawl(0)
begun = time.time()
while time.time() - begun < 900 and not (swarm.progress()["done"] and alone.progress(0)["done"]):
    time.sleep(3)
say(f"both have crawled after {time.time() - begun:.0f} s")
time.sleep(30)  # links of others are indexed in the quiet that follows

dice = random.Random(20261122)
words = set()
for web in all:
    for page in dice.sample(web.truth["pages"], 60):
        titles = swarm.peers[0].search("url:" + '"' + urllib.parse.urlsplit(page).path.strip("/").replace("/", " ") + '"', 3)["hits"]
        words.update(word.lower() for hit in titles for word in re.findall(r"[^\W\d_]{4,}", hit["title"]))
words = sorted(words)
asked = [" ".join(dice.sample(words, dice.choice((1, 2, 3)))) for _ in range(queries)]


def differs(one, other):
    """Whether two answers have other hits, or in another order than equal scores allow."""
    a, b = ([(hit["url"], hit["score"]) for hit in answer["hits"]] for answer in (one, other))
    if len(a) != len(b) or any(abs(x[1] - y[1]) > 1e-5 for x, y in zip(a, b)):
        return True
    least = a[-1][1] if a else 0
    above = lambda hits: {url for url, score in hits if score > least + 1e-5}
    return above(a) != above(b)


def compare_answers(peers):
    different, partial, times, by_one = 0, 0, [], []
    for query in asked:
        sent = time.time()
        right = alone.peers[0].search(query)
        by_one.append((time.time() - sent) * 1000)
        for peer in peers:
            sent = time.time()
            answer = peer.search(query)
            times.append((time.time() - sent) * 1000)
            complete = answer["coverage"]["complete"]
            partial += not complete
            different += complete and differs(right, answer)
    first = " ".join(f"{took:.1f}" for took in times[:5])
    times.sort()
    by_one.sort()
    half = times[len(times) // 2]
    say(f"the first took {first} ms; half of all at most {half:.1f} ms, {half / by_one[len(by_one) // 2]:.1f} times as long as a peer alone (asked 4 at 5 peers)")
    say(f"{len(times)} answers, {different} whole ones differ, {partial} say that something is missing; "
        f"p50 {times[len(times) // 2]:.1f} ms, p99 {times[len(times) * 99 // 100]:.1f} ms, slowest {times[-1]:.0f} ms")


say("for example", asked[:5])
compare_answers(swarm.peers)
hung = swarm.peers[-1]
hung.signal(signal.SIGSTOP)
asked = asked[:15]
compare_answers(swarm.peers[:-1])
hung.signal(signal.SIGCONT)
say("ended", swarm.stop(), alone.stop())
