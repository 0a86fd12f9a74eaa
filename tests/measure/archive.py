#!/usr/bin/env python3
"""archive.py [SEED]: what a peer has crawled is exported, read by others (warcio, cdxj-indexer of PyPI), and imported into a fresh peer."""
import random, sys
from harness import *
from yard import *

seed = int(sys.argv[1]) if len(sys.argv) > 1 else 20261122
room = folder()
web = nginx(room)
peer = alone(os.path.join(room, "first"), web)
say(crawl(peer, web))
at_rest(peer)
warc, cdx = os.path.join(room, "pages.warc.gz"), os.path.join(room, "pages.cdxj")
say(command("export", "warc", warc, "--data", peer.data).stderr.strip().splitlines()[-1])
say(command("export", "cdx", cdx, "--warc", os.path.basename(warc), "--data", peer.data).stderr.strip().splitlines()[-1:])
checked = subprocess.run(["warcio", "check", "-v", warc], capture_output=True, text=True)
say(f"warcio check -v: exit code {checked.returncode}, digest pass {checked.stdout.count('digest pass')}, fail {checked.stdout.count('fail')}")
theirs = subprocess.run(["cdxj-indexer", "-s", warc], capture_output=True, text=True, check=True).stdout.splitlines()
ours = open(cdx).read().splitlines()
say(f"cdxj-indexer: {len(theirs)} lines, the same as ours: {theirs == ours}")

other = alone(os.path.join(room, "second"), web)
say(command("import", "warc", warc, "--data", other.data).stderr.strip().splitlines()[-1])
at_rest(other)
say("the same URLs:", sorted(kept(peer, room)) == sorted(kept(other, room)))
dice, same = random.Random(seed), 0
pages = dice.sample(sorted(web.truth["pages"]), 50)
asked = []
for page in pages:
    text = re.sub(r"<[^>]*>", " ", open(web.file(page), encoding="utf-8", errors="replace").read().split("<body", 1)[-1])
    words = re.findall(r"[^\W\d_]{3,}", html.unescape(text))
    begin = dice.randrange(max(1, len(words) - 3))
    asked.append(" ".join(words[begin:begin + dice.choice((1, 2, 3))]))
for query in asked:
    a, b = peer.search(query), other.search(query)
    hits = lambda answer: [(hit["url"], hit["title"], hit["snippet"], round(hit["score"], 4)) for hit in answer["hits"]]
    same += a["total"] == b["total"] and hits(a) == hits(b) and a["total"] > 0
say(f"same {same} of {len(asked)}, seed {seed}, for example {asked[:4]}")
say("ended", peer.stop(), other.stop())
