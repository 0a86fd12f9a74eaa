#!/bin/sh
# Builds Anthill and starts one peer that crawls and serves search on http://127.0.0.1:7070.
# Arguments are those of `anthill node`; without a seed it crawls the built-in web and says how to crawl the real one.
set -eu
cd "$(dirname "$0")"
./scripts/setup.sh
PATH="$PATH:$HOME/.cargo/bin"
: "${CARGO_TARGET_DIR:=${XDG_CACHE_HOME:-$HOME/.cache}/anthill/target}"
export PATH CARGO_TARGET_DIR
echo "anthill: building (the first time takes about 20 minutes, most of it RocksDB)" >&2
cargo build --release --locked --bin anthill
exec "$CARGO_TARGET_DIR/release/anthill" node "$@"
