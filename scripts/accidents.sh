#!/bin/sh
# Accidents in the simulator, on all cores: seeds of each scenario one after the other, for an hour or as many minutes as are
# given, from seed 0 or the one given on. Prints of each how many seeds ran and how often each fault met each state, and at the
# end how many seeds ran in all. Ends with 1 at the first that does not hold, which prints the command that replays it.
#
#   scripts/accidents.sh [MINUTES [FIRST_SEED]]
set -eu
minutes=${1:-60}
first=${2:-0}
cd "$(dirname "$0")/.."
cargo build --release -q -p anthill-sim
sim=${CARGO_TARGET_DIR:-target}/release/anthill-sim
out=$(mktemp)
trap 'rm -f "$out"' EXIT
# Minutes of sixty.
while read -r scenario share; do
    part=$(awk "BEGIN { print $minutes * $share / 60 }")
    if ! "$sim" --scenario "$scenario" --minutes "$part" --seed "$first" >"$out.part"; then
        cat "$out.part"
        rm -f "$out.part"
        exit 1
    fi
    cat "$out.part"
    echo
    cat "$out.part" >>"$out"
    rm -f "$out.part"
done <<'SCENARIOS'
view 10
view-seen 8
view-200 3
claim 9
claim-two-founders 3
replica 10
links 6
steward 5
swarm 6
SCENARIOS
awk '/ seeds in / { seeds += $2; for (n = 1; n <= NF; n++) if ($n == "simulated") hours += $(n - 1) }
    END { print seeds " seeds in all, " hours " simulated hours" }' "$out"
