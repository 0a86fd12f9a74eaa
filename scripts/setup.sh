#!/bin/sh
# Installs what a build needs besides Rust: a C++ compiler and libclang (RocksDB), make (jemalloc), and certificates (https).
# Does nothing when they are there; says what to install where it may not.
set -eu

# bindgen looks for libclang by these names; ask it where a user might have told us.
have_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    for found in /usr/lib/llvm-*/lib/libclang*.so* /usr/lib/*/libclang*.so* /usr/lib/libclang*.so* \
        /usr/lib64/libclang*.so*; do
        case "$found" in
            # Clang's C++ interface, which many programs bring: no use to bindgen.
            *libclang-cpp*) ;;
            *) [ -e "$found" ] && return 0 ;;
        esac
    done
    return 1
}

missing=""
command -v c++ >/dev/null 2>&1 || missing="$missing g++"
command -v make >/dev/null 2>&1 || missing="$missing make"
have_libclang || missing="$missing libclang-dev"
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ -d /etc/pki ] || missing="$missing ca-certificates"

if [ -n "$missing" ]; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo"
    if command -v apt-get >/dev/null 2>&1 && { [ -z "$sudo" ] || command -v sudo >/dev/null 2>&1; }; then
        echo "anthill: installing$missing" >&2
        $sudo apt-get update -q >&2
        # shellcheck disable=SC2086 # a list of words
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends $missing >&2
    else
        echo "anthill: please install these system packages first:$missing" >&2
        echo "         (a C++ compiler and libclang are needed to build RocksDB, make to build jemalloc)" >&2
        exit 1
    fi
fi

if ! command -v cargo >/dev/null 2>&1; then
    if [ -x "$HOME/.cargo/bin/cargo" ]; then
        echo "anthill: cargo is in ~/.cargo/bin, which is not on PATH; using it" >&2
    else
        echo "anthill: please install Rust 1.90 or newer first: https://rustup.rs" >&2
        exit 1
    fi
fi
