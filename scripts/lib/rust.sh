# Shell, to be sourced at the repository's root: is the Rust here new enough?
# The oldest one is written in one place, Cargo.toml's rust-version.

# "1.95" of "rustc 1.95.0 (59807616e 2026-04-14)"; nothing where the command fails.
minor_version() {
    "$@" --version 2>/dev/null | sed -n '1s/^[a-z]* \([0-9]*\.[0-9]*\).*/\1/p'
}

# at_least 1.95 1.85
at_least() {
    [ "${1%%.*}" -gt "${2%%.*}" ] ||
        { [ "${1%%.*}" -eq "${2%%.*}" ] && [ "${1#*.}" -ge "${2#*.}" ]; }
}

# "1.85" of Cargo.toml.
oldest_version() {
    sed -n 's/^rust-version = "\([0-9]*\.[0-9]*\).*"/\1/p' Cargo.toml
}

# Prints one line and fails where cargo or rustc is missing or too old.
require_rust() {
    oldest=$(oldest_version)
    for tool in cargo rustc; do
        found=$(minor_version "$tool")
        if [ -z "$found" ] || ! at_least "$found" "$oldest"; then
            echo "hetmp: $tool ${found:-(not found)}: not usable (expected $oldest or newer):" \
                "install it with rustup (https://rustup.rs)," \
                "or on Debian 12 with: apt install cargo-web rustc-web" >&2
            return 1
        fi
    done
}
