#!/usr/bin/env python3
"""move.py [URLS] [PEERS] [HOSTS]: a site of so many URLs moves while so many other hosts are crawled, 20 pages a second each at most: its
holder leaves in good order and comes back, twice. How long nobody asks the site for anything, and when who should hold it does."""
import sys, time
from harness import *

SITE = "big.test"
DELAY = 0.05


def site(folder, urls):
    """A web of one host, and all its pages."""
    settings = subprocess.run([os.path.join(BIN, "anthill-web"), "settings", "--preset", "bench", "--hosts", "1", "--pages", str(urls)],
                              capture_output=True, text=True, check=True).stdout
    path = os.path.join(folder, "big.json")
    with open(path, "w") as file:
        json.dump({**json.loads(settings), "names": [SITE]}, file)
    web = Web(folder, "big", ["serve", "--settings", path])
    web.resolve = [f"{SITE}={web.resolve[0].split('=')[1]}"]
    truth = subprocess.run([os.path.join(BIN, "anthill-web"), "truth", "--settings", path], capture_output=True, text=True, check=True)
    return web, json.loads(truth.stdout)["pages"]


def asked(web):
    """Times at which the site was asked for a page, in seconds."""
    return sorted(entry["received_unix_us"] / 1e6 for entry in web.requests() if entry["path"] != "/robots.txt")


def silence(times, after):
    """The longest time without a request that ends after this, or has not ended."""
    return max((b - a for a, b in zip(times, [*times[1:], time.time()]) if b > after), default=float("inf"))


def holder(peers):
    """Who says itself that it holds the site."""
    for peer in peers:
        status = peer.status()
        try:
            told = peer.get(f"site/{SITE}", 60) if status else {}
        except OSError:
            continue  # nothing is known of it there yet
        if status and told.get("holder") == status["peer_id"]:
            return peer, told
    return None, None


def until_held(peer, patience=240):
    begun = time.time()
    while time.time() - begun < patience:
        if holder([peer])[0]:
            return time.time() - begun
        time.sleep(0.2)
    return float("inf")


size, count, hosts = (int(sys.argv[n]) if len(sys.argv) > n else d for n, d in ((1, 100000), (2, 4), (3, 20)))
room = folder()
others = generated(room, hosts, 40000)
big, urls = site(room, size)
swarm = Swarm(room, [big, others], count, ["--host-delay", f"{int(1000 * DELAY)}ms", "--ip-delay", "0s"])
say("settled after %.0f s, held %s" % swarm.settle())
for begin in range(0, len(urls), 50000):
    swarm.peers[0].post("crawl", {"seeds": urls[begin:begin + 50000], "scope": "any"})
begun = time.time()
while time.time() - begun < 300:
    time.sleep(3)
    peer, told = holder(swarm.peers)
    waiting = sum(status["slots"]["changes_missing"] for status in swarm.statuses() if status)
    if peer and told["urls"]["known"] >= len(urls) and waiting < 1000:
        break
say(f"{told['urls']['known']} URLs are known after {time.time() - begun:.0f} s, {told['urls']['queued']} wait")
swarm.crawls = [swarm.peers[0].post("crawl", {"seeds": others.seeds, "scope": "any"})["crawl"]]
time.sleep(10)
for _ in range(2):
    victim, _ = holder(swarm.peers)
    before, fetched = time.time(), swarm.progress(0 if victim.number else 1)["fetched"]
    code, took = victim.stop()
    rest = swarm.living()
    time.sleep(25)
    heir, _ = holder(rest)
    gone = silence(asked(big), before)
    say(f"peer {victim.number} left: exit code {code} after {took:.1f} s; the site was asked for nothing for {gone:.1f} s; peer {heir.number} holds it")
    if "--bootstrap" not in victim.arguments:
        victim.arguments = [*victim.arguments, "--bootstrap", rest[0].address()]
    back = time.time()
    victim.start()
    took = until_held(victim)
    time.sleep(15)
    say(f"it came back: held by it after {took:.1f} s; the site was asked for nothing for {silence(asked(big), back):.1f} s")
    swarm.settle()
    say(f"fetched meanwhile of the other sites: {swarm.progress(0)['fetched'] - fetched}")
polite(others, int(1000 * DELAY), 0)
say("fetched again", sum(n - 1 for web in (big, others) for n in pages(web.requests()).values()))
say("ended", swarm.stop())
