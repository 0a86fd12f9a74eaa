#!/usr/bin/env python3
"""alone.py [SEED]: one peer crawls real pages on nginx: whether it has all of them, asked for each once, and finds them by their titles."""
import collections, random, sys
from harness import *
from yard import *

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20261122
room = folder()
web = nginx(room)
peer = alone(room, web)
say(crawl(peer, web))
urls = peer.status()["urls"]
at_rest(peer)

entries = web.requests()
missing, extra = difference(web, kept(peer, room))
say(f"pages kept {len(kept(peer, room))}, expected {len(web.truth['pages'])}, missing {missing}, not expected {extra[:5]}; {urls}")
times = collections.Counter((host, path) for host, path, status, _ in entries if status == "200" and path != "/robots.txt")
files = {web.file(f"http://{host}{path}") for host, path in times}
robots = collections.Counter(host for host, path, *_ in entries if path == "/robots.txt")
statuses = collections.Counter(status for *_, status, _ in entries)
say(f"{len(entries)} requests {dict(statuses)}; {len(times)} URLs gave 200, {len(files)} files, asked for twice "
    f"{sum(n > 1 for n in times.values())}; robots.txt by host {dict(robots)}")

titles = collections.defaultdict(list)
for page in web.truth["pages"]:
    titles[web.title(page)].append(page)
unique = sorted(title for title, pages in titles.items() if title and len(pages) == 1)
ranks = collections.Counter()
for title in random.Random(seed).sample(unique, 200):
    # What looks like words of a query is none.
    found = peer.search(re.sub(r"[^\w\s]", " ", title))["hits"]
    hits, alike = ({canonical(u): None for hit in found for u in of(hit)} for of in (lambda h: [h["url"]], lambda h: h.get("also", [])))
    page = canonical(titles[title][0])
    rank = "first" if next(iter(hits), None) == page else "top 10" if page in hits else "alike" if page in alike else "not found"
    ranks[rank] += 1
    if rank == "not found":
        say(f"not found by its title: {page}, {title!r}")
say(f"200 of {len(unique)} unique titles, seed {seed}: {dict(ranks)} (alike: shown with one that is nearly the same)")
say("ended", peer.stop())
