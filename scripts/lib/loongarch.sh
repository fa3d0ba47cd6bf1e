#!/bin/sh
# Puts what hetmp/simd.h is tested with for LoongArch into target/tools/loongarch: the C library's headers and files, an
# emulator that has its vectors, and bin/loongarch64-clang, which is clang 19 with them. From Debian 13, where this
# machine's own packages come from, unpacked and not installed: Debian 12 has no such compiler or C library, and its
# QEMU no vectors.
set -eu
cd "$(dirname "$0")/../.."
[ "$(uname -m)" = x86_64 ] || { echo "loongarch: the emulator is for x86-64 machines only" >&2; exit 1; }
to=target/tools/loongarch
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/$') ||
    { echo "loongarch: apt has no sources of Debian" >&2; exit 1; }
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
chmod 755 "$apt"
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/files"
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$apt/sources"
cat >"$apt/apt.conf" <<CONF
APT::Sandbox::User "root";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Etc::SourceList "$apt/sources";
Dir::Etc::SourceParts "-";
CONF
export APT_CONFIG="$apt/apt.conf"
apt-get -qq update
(
    cd "$apt/files"
    apt-get -qq download qemu-user libc6-dev-loong64-cross libc6-loong64-cross linux-libc-dev-loong64-cross \
        libgcc-14-dev-loong64-cross
    for package in ./*.deb; do
        dpkg -x "$package" .
    done
)
rm -rf "$to"
mkdir -p "$to/bin"
mv "$apt/files/usr/bin/qemu-loongarch64" "$to/bin/"
mv "$apt/files/usr/loongarch64-linux-gnu" "$to/system"
mv "$apt/files/usr/lib/gcc-cross/loongarch64-linux-gnu/14" "$to/gcc"
cat >"$to/bin/loongarch64-clang" <<'WRAPPER'
#!/bin/sh
at=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# rustup's Rust brings an lld of its own.
linker=$(command -v ld.lld || ls "$(rustc --print sysroot)"/lib/rustlib/*/bin/gcc-ld/ld.lld) || exit 1
exec clang-19 --target=loongarch64-linux-gnu --sysroot="$at/system" -isystem "$at/system/include" -B"$at/gcc" \
    -L"$at/gcc" -B"$at/system/lib" -L"$at/system/lib" --ld-path="$linker" -Wno-unused-command-line-argument "$@"
WRAPPER
chmod +x "$to/bin/loongarch64-clang"
echo 'int main(void) { return 0; }' | "$to/bin/loongarch64-clang" -static -x c - -o "$apt/probe"
"$to/bin/qemu-loongarch64" "$apt/probe"
