/* libhetmp_mpi.so, calls: the collectives of MPI that this library defines. Each has up to four forms: nonblocking and
 * persistent (MPI 4), and both with large numbers (MPI 4). Some have the blocking form, too. */
#include "hetmp_mpi.h"

/* Bytes of a block of a blocking collective that GOAL moves faster than MPI. A shorter one takes no longer than to look
 * at its arguments; a longer one has several steps, and next to other programs each may wait for a processor. */
enum { LEAST = 16 << 10, MOST = 64 << 10 };

/* True for blocks that are certainly too short. Most are, and are to pay nothing for being looked at. */
static int is_short(MPI_Count count, MPI_Datatype type) {
    return count < LEAST / 8 && (type == MPI_DOUBLE || type == MPI_INT || type == MPI_BYTE || type == MPI_FLOAT ||
                                 type == MPI_CHAR || type == MPI_LONG || type == MPI_INT64_T);
}

/* Runs a blocking collective, or says that it is MPI's. What is looked at is equal at all ranks. */
static int run(struct call k, int *error) {
    if (why_not(&k) != FITS) return 0;
    size_t bytes = k.kind == ALLREDUCE ? length(k.give.count, k.give.type) : k.bytes;
    /* Sums of more ranks go by a ring, in steps for each of which all wait. */
    if (bytes < LEAST || bytes > MOST || (k.kind == ALLREDUCE && k.c->size > 2)) return 0;
    struct request *r = new_request();
    *error = finish(r, &k, begin(&k, r));
    return 1;
}

/* Takes the collective, or says that it is MPI's. */
static int take(struct call k, int is_persistent, int *error, MPI_Request *request) {
    int why = why_not(&k);
    if (why != FITS) {
        __atomic_add_fetch(&left[why], 1, __ATOMIC_RELAXED);
        return 0;
    }
    if (is_persistent) {
        *error = give_persistent(&k, request);
        return 1;
    }
    struct request *r = new_request();
    *error = give_request(r, k.comm, k.kind, begin(&k, r), request);
    if (k.unlike && *error == MPI_SUCCESS) {
        /* As MPI refuses it; the other ranks get what this one gives all the same. */
        MPI_Request_free(request);
        *error = MPI_ERR_TRUNCATE;
        PMPI_Comm_call_errhandler(k.comm, *error);
    }
    return 1;
}

#define UNPACK(...) __VA_ARGS__
/* `parameters` gets the types of numbers of elements and of places; what follows says the same as a struct call. */
#define FORM(name, parameters, arguments, is_persistent, more, N, D, ...)                    \
    int MPI_##name(parameters(N, D), UNPACK more MPI_Request *request) {                     \
        int error;                                                                           \
        const int large = sizeof(N) > sizeof(int), wide = sizeof(D) > sizeof(int);           \
        (void)large, (void)wide;                                                             \
        const struct call k = {.comm = comm, __VA_ARGS__};                                   \
        if (take(k, is_persistent, &error, request)) return error;                           \
        return REAL(name)(UNPACK arguments, INFO##is_persistent request);                    \
    }                                                                                        \
    BOTH(name)
#define INFO0
#define INFO1 info,
#if MPI_VERSION >= 4
#define LARGE(...) __VA_ARGS__
#else
#define LARGE(...)
#endif
#if MPI_VERSION >= 4 || (defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5)
#define PERSISTENT(...) __VA_ARGS__
#else
#define PERSISTENT(...)
#endif
#define FORMS(low, name, parameters, arguments, ...)                                                        \
    FORM(I##low, parameters, arguments, 0, (), int, int, __VA_ARGS__)                                       \
    LARGE(FORM(I##low##_c, parameters, arguments, 0, (), MPI_Count, MPI_Aint, __VA_ARGS__))                 \
    PERSISTENT(FORM(name##_init, parameters, arguments, 1, (MPI_Info info, ), int, int, __VA_ARGS__))       \
    LARGE(FORM(name##_init_c, parameters, arguments, 1, (MPI_Info info, ), MPI_Count, MPI_Aint, __VA_ARGS__))
/* Arrays of types, which the program may free, are not kept. */
/* `of` says how many elements of which type a block has that every rank knows. */
#define BLOCKING(name, parameters, arguments, of, N, D, ...)                                 \
    int MPI_##name(parameters(N, D)) {                                                       \
        int error;                                                                           \
        const struct call k = {.comm = comm, __VA_ARGS__};                                   \
        if (takes_blocking && !is_short of && run(k, &error)) return error;                  \
        return REAL(name) arguments;                                                         \
    }                                                                                        \
    BOTH(name)
#define ALSO_BLOCKING(low, name, parameters, arguments, of, ...)                                    \
    FORMS(low, name, parameters, arguments, __VA_ARGS__)                                            \
    BLOCKING(name, parameters, arguments, of, int, int, __VA_ARGS__)                                \
    LARGE(BLOCKING(name##_c, parameters, arguments, of, MPI_Count, MPI_Aint, __VA_ARGS__))
#define FORMS_W(low, parameters, arguments, D, ...)                  \
    FORM(I##low, parameters, arguments, 0, (), int, D, __VA_ARGS__)  \
    LARGE(FORM(I##low##_c, parameters, arguments, 0, (), MPI_Count, MPI_Aint, __VA_ARGS__))

/* ---- without data ---- */
#define P_BARRIER(N, D) MPI_Comm comm
FORM(Ibarrier, P_BARRIER, (comm), 0, (), int, int, .kind = BARRIER)
PERSISTENT(FORM(Barrier_init, P_BARRIER, (comm), 1, (MPI_Info info, ), int, int, .kind = BARRIER))

/* ---- reductions ---- */
#define REDUCES .give = {.at = from, .count = count, .type = type}, .get = {.at = to}, .op = op
#define P_REDUCE(N, D) const void *from, void *to, N count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
FORMS(reduce, Reduce, P_REDUCE, (from, to, count, type, op, root, comm), .kind = REDUCE, .root = root, REDUCES)
#define P_ALL(N, D) const void *from, void *to, N count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
ALSO_BLOCKING(allreduce, Allreduce, P_ALL, (from, to, count, type, op, comm), (count, type), .kind = ALLREDUCE, REDUCES)
FORMS(scan, Scan, P_ALL, (from, to, count, type, op, comm), .kind = SCAN, REDUCES)
FORMS(exscan, Exscan, P_ALL, (from, to, count, type, op, comm), .kind = EXSCAN, REDUCES)
FORMS(reduce_scatter_block, Reduce_scatter_block, P_ALL, (from, to, count, type, op, comm),
      .kind = REDUCE_SCATTER_BLOCK, REDUCES)
#define P_SOME(N, D) const void *from, void *to, const N counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm
FORMS(reduce_scatter, Reduce_scatter, P_SOME, (from, to, counts, type, op, comm), .kind = REDUCE_SCATTER,
      .give = {.at = from, .type = type},
      .get = {.at = to, .type = type, .counts = counts, .large_counts = large}, .op = op)

/* ---- blocks of one length ---- */
#define P_BCAST(N, D) void *buffer, N count, MPI_Datatype type, int root, MPI_Comm comm
ALSO_BLOCKING(bcast, Bcast, P_BCAST, (buffer, count, type, root, comm), (count, type), .kind = BCAST, .root = root,
              .give = {.at = buffer, .count = count, .type = type})
#define BLOCKS .give = {.at = from, .count = count, .type = type}, \
    .get = {.at = to, .count = to_count, .type = to_type}
#define P_BOTH(N, D)                                                                                                \
    const void *from, N count, MPI_Datatype type, void *to, N to_count, MPI_Datatype to_type, MPI_Comm comm
#define A_BOTH (from, count, type, to, to_count, to_type, comm)
ALSO_BLOCKING(alltoall, Alltoall, P_BOTH, A_BOTH, (to_count, to_type), .kind = ALLTOALL, BLOCKS)
ALSO_BLOCKING(allgather, Allgather, P_BOTH, A_BOTH, (to_count, to_type), .kind = ALLGATHER, BLOCKS)
FORMS(neighbor_alltoall, Neighbor_alltoall, P_BOTH, A_BOTH, .kind = NEIGHBOR_ALLTOALL, BLOCKS)
FORMS(neighbor_allgather, Neighbor_allgather, P_BOTH, A_BOTH, .kind = NEIGHBOR_ALLGATHER,
      .give = {.at = from, .count = count, .type = type, .is_one = 1},
      .get = {.at = to, .count = to_count, .type = to_type})
#define P_ROOT(N, D)                                                                                          \
    const void *from, N count, MPI_Datatype type, void *to, N to_count, MPI_Datatype to_type, int root,       \
        MPI_Comm comm
#define A_ROOT (from, count, type, to, to_count, to_type, root, comm)
FORMS(gather, Gather, P_ROOT, A_ROOT, .kind = GATHER, .root = root, BLOCKS)
FORMS(scatter, Scatter, P_ROOT, A_ROOT, .kind = SCATTER, .root = root, BLOCKS)

/* ---- blocks of a length each ---- */
#define EACH(c, d) .counts = c, .displs = d, .large_counts = large, .large_displs = wide
#define P_GATHERV(N, D)                                                                                          \
    const void *from, N count, MPI_Datatype type, void *to, const N counts[], const D displs[], MPI_Datatype to_type, \
        int root, MPI_Comm comm
FORMS(gatherv, Gatherv, P_GATHERV, (from, count, type, to, counts, displs, to_type, root, comm), .kind = GATHERV,
      .root = root, .give = {.at = from, .count = count, .type = type, .is_one = 1},
      .get = {.at = to, .type = to_type, EACH(counts, displs)})
#define P_SCATTERV(N, D)                                                                                          \
    const void *from, const N counts[], const D displs[], MPI_Datatype type, void *to, N count,                   \
        MPI_Datatype to_type, int root, MPI_Comm comm
FORMS(scatterv, Scatterv, P_SCATTERV, (from, counts, displs, type, to, count, to_type, root, comm),
      .kind = SCATTERV, .root = root, .give = {.at = from, .type = type, EACH(counts, displs)},
      .get = {.at = to, .count = count, .type = to_type, .is_one = 1})
#define P_ALLGATHERV(N, D)                                                                                       \
    const void *from, N count, MPI_Datatype type, void *to, const N counts[], const D displs[], MPI_Datatype to_type, \
        MPI_Comm comm
#define A_ALLGATHERV (from, count, type, to, counts, displs, to_type, comm)
#define ONE_TO_EACH .give = {.at = from, .count = count, .type = type, .is_one = 1}, \
    .get = {.at = to, .type = to_type, EACH(counts, displs)}
FORMS(allgatherv, Allgatherv, P_ALLGATHERV, A_ALLGATHERV, .kind = ALLGATHERV, ONE_TO_EACH)
FORMS(neighbor_allgatherv, Neighbor_allgatherv, P_ALLGATHERV, A_ALLGATHERV, .kind = NEIGHBOR_ALLGATHERV,
      ONE_TO_EACH)
#define P_ALLTOALLV(N, D)                                                                                   \
    const void *from, const N counts[], const D displs[], MPI_Datatype type, void *to, const N to_counts[], \
        const D to_displs[], MPI_Datatype to_type, MPI_Comm comm
#define A_ALLTOALLV (from, counts, displs, type, to, to_counts, to_displs, to_type, comm)
#define EACH_TO_EACH .give = {.at = from, .type = type, EACH(counts, displs)}, \
    .get = {.at = to, .type = to_type, EACH(to_counts, to_displs)}
FORMS(alltoallv, Alltoallv, P_ALLTOALLV, A_ALLTOALLV, .kind = ALLTOALLV, EACH_TO_EACH)
FORMS(neighbor_alltoallv, Neighbor_alltoallv, P_ALLTOALLV, A_ALLTOALLV, .kind = NEIGHBOR_ALLTOALLV, EACH_TO_EACH)
#define P_ALLTOALLW(N, D)                                                                                           \
    const void *from, const N counts[], const D displs[], const MPI_Datatype types[], void *to, const N to_counts[], \
        const D to_displs[], const MPI_Datatype to_types[], MPI_Comm comm
#define A_ALLTOALLW (from, counts, displs, types, to, to_counts, to_displs, to_types, comm)
#define TYPES .give = {.at = from, .types = types, EACH(counts, displs)}, \
    .get = {.at = to, .types = to_types, EACH(to_counts, to_displs)}
FORMS_W(alltoallw, P_ALLTOALLW, A_ALLTOALLW, int, .kind = ALLTOALLW, TYPES)
FORMS_W(neighbor_alltoallw, P_ALLTOALLW, A_ALLTOALLW, MPI_Aint, .kind = NEIGHBOR_ALLTOALLW, TYPES)
