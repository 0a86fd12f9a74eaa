#!/usr/bin/env python3
"""balance.py [PEERS...]: how even load becomes in the simulator, hashing alone beside contracts, for 100 and 1,000 peers or as many as are named: sizes
by Zipf's law, a hot spot, a burst, unequal speeds, a slow peer. The busiest peer over the mean, as a multiple of what the largest host allows."""
from common import *

counts = [int(word) for word in sys.argv[1:]] or [100, 1000]
shapes = ["zipf", "hot", "burst", "unequal", "slow"]


def run(shape, peers):
    told = subprocess.run([os.path.join(BIN, "anthill-sim"), "--balance", shape, "--machines", str(peers), "--seed", "0"],
                          capture_output=True, text=True, check=True)
    one = json.loads(told.stdout)
    say(shape, peers, "peers:", one["hashing_alone"][-1]["excess"], "->", one["contracts"][-1]["excess"],
        f"{one['messages_per_peer_and_second']:.2f} messages per peer and second")
    return one


results = [run(shape, peers) for peers in counts for shape in shapes]
brief = lambda samples: [{name: sample[name] for name in ("second", "excess", "messages", "moves")} for sample in samples]
write("balance", {"results": [{**one, "hashing_alone": brief(one["hashing_alone"]), "contracts": brief(one["contracts"])} for one in results]})
plot, axes = figure(9, 2.6 * len(counts), len(counts), len(shapes))
for at, one in enumerate(results):
    place = axes[at // len(shapes)][at % len(shapes)] if len(counts) > 1 else axes[at]
    for name, label in (("hashing_alone", "hashing alone"), ("contracts", "contracts")):
        place.plot([s["second"] for s in one[name]], [s["excess"] for s in one[name]], label=label)
    place.set_yscale("log")
    place.axhline(1.3, color="grey", linewidth=.6)
    place.set_title(f"{one['shape']}, {one['peers']} peers", fontsize=8)
    place.tick_params(which="both", labelsize=6)
    place.yaxis.set_major_formatter("{x:g}")
    place.yaxis.set_minor_formatter("{x:g}")
plot.supxlabel("seconds", fontsize=8)
plot.supylabel("busiest peer / mean, over the least possible", fontsize=8)
plot.legend(*place.get_legend_handles_labels(), loc="lower right", fontsize=7, ncols=2)
save(plot, "balance")
