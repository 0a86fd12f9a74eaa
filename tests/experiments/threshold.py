#!/usr/bin/env python3
"""threshold.py [PEERS]: what the threshold W does, above which a peer calls for bids (Du, Xu, Wang, table 1; theirs is of the topical ability, this
one of load: seconds to be done). In the simulator, 100 peers or as many as are said, a minute, five seeds of each shape: how even load becomes, and what it costs
in messages and in slots that move."""
from common import *
import statistics

peers = int(sys.argv[1]) if len(sys.argv) > 1 else 100
thresholds = [0, 15, 30, 60, 120, 180, 240, 300, 450, 600]
shapes = ["zipf", "hot", "unequal"]
SEEDS = range(5)


def run(shape, threshold, seed):
    told = subprocess.run([os.path.join(BIN, "anthill-sim"), "--balance", shape, "--machines", str(peers), "--seed", str(seed),
                           "--threshold", str(threshold)], capture_output=True, text=True, check=True)
    one = json.loads(told.stdout)
    return one["contracts"][-1]["excess"], one["messages_per_peer_and_second"], one["slots_moved"] / peers, one["hashing_alone"][-1]["excess"]


def row(shape, threshold):
    excess, messages, moved, alone = zip(*(run(shape, threshold, seed) for seed in SEEDS))
    told = {"shape": shape, "threshold_s": threshold, "excess": [round(one, 3) for one in excess], "mean_excess": round(statistics.mean(excess), 3),
            "messages_per_peer_and_second": round(statistics.mean(messages), 3), "slots_moved_per_peer": round(statistics.mean(moved), 2),
            "hashing_alone": round(statistics.mean(alone), 3)}
    say(told)
    return told


results = [row(shape, threshold) for shape in shapes for threshold in thresholds]
paper = {"of": "Du, Xu, Wang, table 1", "threshold": [.05, .1, .15, .2, .25, .3, .35, .4, .45, .5],
         "mean_precision": [.92, .93, .91, .94, .95, .93, .92, .93, .93, .93]}
write("threshold", {"peers": peers, "seconds": 60, "seeds": len(SEEDS), "results": results, "paper": paper})

plot, axes = figure(9, 3, 1, 3)
of = lambda shape, name: [one[name] for one in results if one["shape"] == shape]
for shape in shapes:
    axes[0].plot(thresholds, of(shape, "mean_excess"), marker=".", label=shape)
    axes[1].plot(thresholds, of(shape, "messages_per_peer_and_second"), marker=".")
    axes[2].plot(thresholds, of(shape, "slots_moved_per_peer"), marker=".")
axes[0].set_yscale("log")
axes[0].yaxis.set_major_formatter("{x:g}")
axes[0].yaxis.set_minor_formatter("{x:g}")
for place, title in zip(axes, ("busiest peer / mean, over the least possible", "messages per peer and second", "slots moved per peer")):
    place.set_title(title, fontsize=8)
    place.tick_params(which="both", labelsize=6)
plot.supxlabel("threshold W (s)", fontsize=8)
axes[0].legend(fontsize=7)
save(plot, "threshold")
