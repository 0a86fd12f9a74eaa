"""What experiments share: the swarms of tests/measure, a file of results as JSON, and a picture of it."""

import os, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "measure"))
from harness import *  # noqa: E402,F403

try:
    import matplotlib
except ImportError:
    sys.exit("pictures need matplotlib: pip install -r tests/experiments/requirements.txt")
matplotlib.use("svg")
# The same picture has the same bytes.
matplotlib.rcParams["svg.hashsalt"] = "anthill"
import matplotlib.pyplot as pyplot  # noqa: E402

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")


def write(name, result):
    os.makedirs(RESULTS, exist_ok=True)
    path = os.path.join(RESULTS, f"{name}.json")
    with open(path, "w") as file:
        json.dump(result, file, separators=(",", ":"))
        file.write("\n")
    say("written:", os.path.relpath(path))


def figure(wide, high, rows=1, columns=1):
    return pyplot.subplots(rows, columns, figsize=(wide, high), layout="constrained")


def save(plot, name):
    path = os.path.join(RESULTS, f"{name}.svg")
    plot.savefig(path, metadata={"Date": None})
    say("drawn:", os.path.relpath(path))
