#!/bin/sh
# Builds Anthill and runs all its tests. Arguments go to `cargo test`.
set -eu
cd "$(dirname "$0")"
./scripts/setup.sh
PATH="$PATH:$HOME/.cargo/bin"
: "${CARGO_TARGET_DIR:=${XDG_CACHE_HOME:-$HOME/.cache}/anthill/target}"
export PATH CARGO_TARGET_DIR
echo "anthill: building the tests (the first time takes about 20 minutes, most of it RocksDB)" >&2
cargo build --workspace --locked --bins
exec cargo test --workspace --locked "$@"
