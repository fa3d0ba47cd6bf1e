# Builds libhetmp_mpi.so, which runs the nonblocking collectives of MPI programs on GOAL: one library for each MPI.

# Builds the library for the MPI of the compiler $2, with the sources under $1, as $3. Prints nothing if all is well.
#
# The library is not linked with MPI, and all that it needs of MPI is weak: LD_PRELOAD reaches the launcher too, which
# must start although it has no MPI.
build_mpi_shim() { # ROOT MPICC LIBRARY
    shim_work=$(mktemp -d)
    shim_files="job requests waits calls collectives buffers"
    shim_flags="-std=gnu11 -O2 -Wall -Wextra -fPIC -I$1/include"
    # shellcheck disable=SC2086
    (
        # Only for the names.
        for shim_file in $shim_files; do
            "$2" $shim_flags -O0 -c "$1/runtime/mpi/$shim_file.c" -o "$shim_work/$shim_file-first.o" || exit
        done
        nm -u "$shim_work"/*-first.o | awk '$2 ~ /MPI_|mpi_/ { print "#pragma weak " $2 }' |
            sort -u >"$shim_work/weak.h"
        for shim_file in $shim_files; do
            "$2" $shim_flags -include "$shim_work/weak.h" -c "$1/runtime/mpi/$shim_file.c" \
                -o "$shim_work/$shim_file.o" || exit
        done
        rm "$shim_work"/*-first.o
        ${CC:-gcc} -shared -Wl,-soname,libhetmp_mpi.so "$shim_work"/*.o -ldl -lpthread -o "$3"
    )
    shim_status=$?
    rm -rf "$shim_work"
    return $shim_status
}

# Whether a compiler of MPI programs works. Debian's `mpich` brings mpicc.mpich; mpi.h is in libmpich-dev.
compiles_mpi() { # MPICC
    echo '#include <mpi.h>' | "$1" -fsyntax-only -x c - 2>/dev/null
}

# The name of the MPI of a compiler: openmpi, mpich for all that descend from it, or abi for that of MPI 5.
mpi_name() { # MPICC
    shim_name=$(printf '#include <mpi.h>\n#if defined MPI_ABI_VERSION\nabi\n#elif defined OPEN_MPI\nopenmpi\n#endif\n' |
        "$1" -E -P -x c - 2>/dev/null | tail -n 1)
    case $shim_name in
    abi | openmpi) echo "$shim_name" ;;
    *) echo mpich ;;
    esac
}
