# Shell, to be sourced: the OpenMP runtime that belongs to clang 19.
# clang's programs ask for libomp.so.5. Where another release of LLVM owns that name in the system's library folder,
# they find that release's, and a comparison is with a library that they were not made for.

# Prints the folder of clang 19's own libomp, for LD_LIBRARY_PATH. Prints why on standard error and fails where there is
# none, or one of an earlier release.
clang_runtime() {
    at=$(readlink -f "$(clang-19 -print-file-name=libomp.so 2>/dev/null)")
    at=$(dirname "$at")
    if [ ! -f "$at/libomp.so.5" ]; then
        echo "hetmp: library libomp.so of clang-19: not found: install libomp-19-dev" >&2
        return 1
    fi
    # LLVM 19's libomp has it, and no earlier one.
    if ! grep -q __kmpc_dispatch_deinit "$at/libomp.so.5"; then
        echo "hetmp: library $at/libomp.so.5: too old (expected LLVM 19's libomp or a later one)" >&2
        return 1
    fi
    echo "$at"
}

# Says on standard error what is compared with: clang_compared FOLDER
clang_compared() {
    echo "compared with $1/libomp.so.5, clang $(clang-19 --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')" >&2
}
