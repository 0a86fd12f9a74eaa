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
: "${CARGO_TARGET_DIR:=${XDG_CACHE_HOME:-$HOME/.cache}/anthill/target}"
export CARGO_TARGET_DIR
cargo build --release --locked -q -p anthill-sim
sim=$CARGO_TARGET_DIR/release/anthill-sim
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Minutes of sixty, and the state that accidents wait for where it is rare.
while read -r scenario share state; do
    part=$(awk "BEGIN { print $minutes * $share / 60 }")
    held=0
    "$sim" --scenario "$scenario" --minutes "$part" --seed "$first" ${state:+--state "$state"} >"$work/part" || held=$?
    cat "$work/part"
    echo
    [ "$held" = 0 ] || exit "$held"
    cat "$work/part" >>"$work/all"
done <<'SCENARIOS'
swarm 5
swarm-bidding 2
swarm-able 2
swarm 2 stopped
swarm 1 catching up
swarm 2 cut off
view 5
view 1 stopped
view-seen 5
view-200 3
claim 4
claim 2 leaving
claim 2 naming
claim-two-founders 3
claim-lending 2
replica 5
replica 1 pulling
replica 2 starting
links 4
links 1 admitting
links 1 reading
links 1 idle
steward 3
steward 1 writing
SCENARIOS
awk '/ seeds in / { seeds += $2; for (n = 1; n <= NF; n++) if ($n == "simulated") hours += $(n - 1) }
    END { print seeds " seeds in all, " hours " simulated hours" }' "$work/all"
