#!/bin/sh
# scripts/lib/oldest_rust.sh COMMAND ARGUMENTS...: runs cargo or rustc of the oldest version that builds hetmp
# (Cargo.toml's rust-version); status 77 and one line if it is not here.
# scripts/lib/oldest_rust.sh --install: unpacks Debian's packages of it into target/tools. They are not installed, so
# that /usr/bin gets no second cargo and rustc.
# scripts/lib/oldest_rust.sh --standard-library ARCHITECTURE: adds the standard library of another of Debian's
# architectures, with package lists of its own: this machine's stay as they are.
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/rust.sh
oldest=$(oldest_version)
root=$PWD/target/tools/rust-$oldest

if [ "$1" = --install ]; then
    version=$(apt-cache madison rustc-web | awk -v v="$oldest" 'index($3, v ".") == 1 { print $3; exit }')
    [ -n "$version" ] || { echo "rust $oldest: apt has no rustc-web of this version" >&2; exit 1; }
    rm -rf "$root.part"
    mkdir -p "$root.part/packages"
    cd "$root.part/packages"
    # The last two: libraries that cargo needs and few machines have.
    apt-get -qq download "cargo-web=$version" "rustc-web=$version" "libstd-rust-web-$oldest=$version" \
        "libstd-rust-web-dev=$version" libhttp-parser2.9 libpcre3
    for package in *.deb; do
        dpkg -x "$package" ..
    done
    cd ../..
    rm -rf "$root.part/packages" "$root"
    mv "$root.part" "$root"
    exit 0
fi

if [ "$1" = --standard-library ]; then
    [ -d "$root/usr/lib/rustlib" ] || { echo "rust $oldest: is not unpacked (scripts/setup)" >&2; exit 1; }
    . scripts/lib/other_machine.sh
    other_machine "$2"
    version=$(apt-cache madison "libstd-rust-web-dev:$2" |
        awk -v v="$oldest" 'index($3, v ".") == 1 { print $3; exit }')
    [ -n "$version" ] || { echo "rust $oldest: apt has no libstd-rust-web-dev:$2 of this version" >&2; exit 1; }
    other_files "libstd-rust-web-dev:$2=$version"
    cp -R "$apt/files/usr/lib/rustlib/." "$root/usr/lib/rustlib/"
    exit 0
fi

if [ -x "$root/usr/bin/rustc" ]; then
    PATH=$root/usr/bin:$PATH
    for folder in "$root"/usr/lib/*-linux-gnu "$root"/lib/*-linux-gnu; do
        LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
    export PATH LD_LIBRARY_PATH
fi
for tool in cargo rustc; do
    [ "$(minor_version "$tool")" = "$oldest" ] || {
        echo "$tool $oldest is not here (scripts/setup unpacks Debian's)"
        exit 77
    }
done
exec "$@"
