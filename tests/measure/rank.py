#!/usr/bin/env python3
"""rank.py FOLDER...: how well `anthill tool rank` ranks test collections; a folder has docs.tsv and queries.tsv (id, text) and qrels.tsv
(query, document, relevance). MAP and nDCG@10 are means over the queries that have relevant documents, as trec_eval takes them."""
import collections, math, os, subprocess, sys
from harness import BIN

for folder in sys.argv[1:]:
    relevant = collections.defaultdict(set)
    for line in open(os.path.join(folder, "qrels.tsv")):
        query, document, relevance = line.split("\t")
        if int(relevance) > 0:
            relevant[query].add(document)
    files = [os.path.join(folder, name) for name in ("docs.tsv", "queries.tsv")]
    told = subprocess.run([os.path.join(BIN, "anthill"), "tool", "rank", *files], check=True, capture_output=True, text=True).stdout
    run = collections.defaultdict(list)
    for line in told.splitlines():
        query, _, document, *_ = line.split()
        run[query].append(document)
    precision, gain = [], []
    for query, wanted in relevant.items():
        good = [document in wanted for document in run[query]]
        precision.append(sum(sum(good[:n + 1]) / (n + 1) for n, hit in enumerate(good) if hit) / len(wanted))
        discount = [1 / math.log2(n + 2) for n in range(10)]
        gain.append(sum(d for d, hit in zip(discount, good) if hit) / sum(discount[:len(wanted)]))
    mean = lambda values: sum(values) / len(values)
    print(f"{os.path.basename(folder)}: MAP {mean(precision):.4f} nDCG@10 {mean(gain):.4f}, {len(relevant)} queries")
