# Read by scripts/install and abi-compat: makes the libraries that programs of our own headers link with.

# libhetmp.so has the names of these headers at hidden versions only (docs/dev/names.md). A library of this function has
# them as names that linkers, prototypes and dlsym find, and each jumps to libhetmp.so. Which names belong together is
# said by their version nodes: what is at HETMP_MQ becomes libhetmp_mq.so.
interface_libraries() { # LIBHETMP FOLDER
    names=$(mktemp -d)
    nm -D --defined-only "$1" | sed -n 's/.* \([^ ]*\)@\(HETMP_[A-Z]*\)$/\1 \2/p' | sort >"$names/all"
    # The linker needs a libhetmp.so of that name, since the library's own soname is libgomp.so.1. This one lends the
    # name.
    sed -n 's/^\(.*\) HETMP_ENGINE$/.globl \1\n.type \1, @function\n\1:/p' "$names/all" >"$names/engine.s"
    echo 'HETMP_ENGINE { global: *; };' >"$names/engine.map"
    case $(${CC:-gcc} -dumpmachine) in
    aarch64*) jump="b hetmp.\1" ;;
    *) jump="jmp hetmp.\1@PLT" ;;
    esac
    ${CC:-gcc} -shared -nostdlib "$names/engine.s" -o "$names/libhetmp.so" -Wl,-soname,libhetmp.so \
        -Wl,--version-script="$names/engine.map"
    for node in $(sed 's/.* //' "$names/all" | sort -u | grep -v '^HETMP_ENGINE$'); do
        soname=libhetmp_$(echo "${node#HETMP_}" | tr '[:upper:]' '[:lower:]').so
        {
            names_entry=".symver hetmp.\1, \1@HETMP_ENGINE\n.globl \1\n.type \1, @function\n\1: $jump"
            sed -n "s/^\(.*\) $node\$/$names_entry/p" "$names/all"
            echo '.section .note.GNU-stack, "", @progbits'
        } >"$names/names.s"
        echo "$node { global: *; };" >"$names/names.map"
        # DT_RPATH comes before LD_LIBRARY_PATH. Names are looked up at their first call, as there may be thousands.
        ${CC:-gcc} -shared -nostdlib "$names/names.s" "$names/libhetmp.so" -o "$2/.$soname.new" \
            -Wl,-soname,"$soname.0" \
            -Wl,--version-script="$names/names.map" -Wl,--disable-new-dtags -Wl,-rpath,'$ORIGIN' -Wl,-z,lazy
        mv -f "$2/.$soname.new" "$2/$soname.0"
        ln -sf "$soname.0" "$2/$soname"
    done
    # What makefiles for other implementations link with: -lsma, and Open MPI's -loshmem. Another's library is left
    # alone.
    for name in libsma.so liboshmem.so; do
        [ ! -e "$2/$name" ] || [ "$(readlink "$2/$name")" = libhetmp_shmem.so ] || continue
        ln -sf libhetmp_shmem.so "$2/$name"
    done
    rm -r "$names"
}

# The options that link a program with interfaces (mq, shmem, goal). $1 is the folder of the libraries. libhetmp.so
# comes first, so that calls of compiled programs go to it without a jump. DT_RPATH comes before LD_LIBRARY_PATH, where
# a libgomp.so.1 of gcc may be.
interface_flags() { # FOLDER INTERFACE...
    flags="-Wl,--disable-new-dtags -Wl,-rpath,$1 -Wl,--push-state,--no-as-needed -lhetmp -Wl,--as-needed"
    shift
    for interface in "$@"; do flags="$flags -lhetmp_$interface"; done
    echo "$flags -Wl,--pop-state"
}
