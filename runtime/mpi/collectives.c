/* libhetmp_mpi.so, collectives: what GOAL takes of types, operations and buffers, and the collectives themselves. */
#include "hetmp_mpi.h"
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- types and operations ---- */
/* The latest type of MPI's own without holes: its elements lie one after the other, in the order in which they are
 * sent. Types of MPI's own are never freed, so that the handle cannot have come to mean another one. */
static __thread MPI_Datatype latest;
static __thread int known;

static int is_plain(MPI_Datatype type) {
    int integers, addresses, types, combiner, size;
    MPI_Aint lb, extent;
    if (known && type == latest) return 1;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED) return 0;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &lb, &extent);
    if (lb != 0 || extent != size) return 0;
    latest = type;
    known = 1;
    return 1;
}

/* True if MPI moves data of the type: it exists, and is committed. */
static int is_usable(MPI_Datatype type) {
    char none = 0;
    int at = 0;
    if (known && type == latest) return 1;
    return type != MPI_DATATYPE_NULL && PMPI_Pack(&none, 0, type, &none, sizeof none, &at, own) == MPI_SUCCESS;
}

/* GOAL's number of an element type; 0 if GOAL has none. */
static int element(MPI_Datatype type) {
#define SIGNED(c) GOAL_SIGNED(8 * (int)sizeof(c))
#define UNSIGNED(c) GOAL_UNSIGNED(8 * (int)sizeof(c))
    const struct {
        MPI_Datatype type;
        int number;
    } types[] = {
        {MPI_INT, SIGNED(int)},
        {MPI_DOUBLE, GOAL_DOUBLE},
        {MPI_FLOAT, GOAL_FLOAT},
        {MPI_LONG, SIGNED(long)},
        {MPI_UNSIGNED_LONG, UNSIGNED(long)},
        {MPI_UNSIGNED, UNSIGNED(int)},
        {MPI_LONG_LONG, SIGNED(long long)},
        {MPI_UNSIGNED_LONG_LONG, UNSIGNED(long long)},
        {MPI_INT32_T, SIGNED(int32_t)},
        {MPI_INT64_T, SIGNED(int64_t)},
        {MPI_UINT32_T, UNSIGNED(uint32_t)},
        {MPI_UINT64_T, UNSIGNED(uint64_t)},
        {MPI_INT8_T, SIGNED(int8_t)},
        {MPI_INT16_T, SIGNED(int16_t)},
        {MPI_UINT8_T, UNSIGNED(uint8_t)},
        {MPI_UINT16_T, UNSIGNED(uint16_t)},
        {MPI_SIGNED_CHAR, SIGNED(signed char)},
        {MPI_UNSIGNED_CHAR, UNSIGNED(unsigned char)},
        {MPI_SHORT, SIGNED(short)},
        {MPI_UNSIGNED_SHORT, UNSIGNED(unsigned short)},
        {MPI_AINT, SIGNED(MPI_Aint)},
        {MPI_COUNT, SIGNED(MPI_Count)},
        {MPI_OFFSET, SIGNED(MPI_Offset)},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].type == type) return types[i].number;
    return 0;
}

/* GOAL's number of an operation on elements of a type; -1 if GOAL has none, or MPI forbids it. */
static int operation(MPI_Op op, int type) {
    int is_integer = type != GOAL_FLOAT && type != GOAL_DOUBLE;
    if (op == MPI_SUM) return GOAL_ADD;
    if (op == MPI_MAX) return GOAL_MAX;
    if (op == MPI_MIN) return GOAL_MIN;
    if (op == MPI_PROD) return GOAL_MULT;
    if (op == MPI_BAND && is_integer) return GOAL_AND;
    if (op == MPI_BOR && is_integer) return GOAL_OR;
    if (op == MPI_BXOR && is_integer) return GOAL_XOR;
    return -1;
}

/* ---- buffers ---- */
/* `n` blocks of `count` elements, as bytes that lie one after the other. Returns the program's buffer if that is what
 * it is, or else a copy. */
static const void *as_bytes(const void *buffer, int n, int count, MPI_Datatype type, size_t bytes, int copy,
                            void **made) {
    size_t all = bytes * (size_t)n;
    if (is_plain(type)) {
        if (!copy) return buffer;
        return *made = memcpy(memory(all), buffer, all);
    }
    *made = memory(all);
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(type, &lb, &extent);
    for (int i = 0; i < n; i++)
        move_block((char *)buffer + (MPI_Aint)i * count * extent, count, type, (char *)*made + (size_t)i * bytes,
                   bytes, 0);
    return *made;
}

/* Where `n` blocks are to be written: the program's buffer, or a copy from which `deliver` takes them. */
static void *for_bytes(struct request *r, void *buffer, int n, int count, MPI_Datatype type, size_t bytes) {
    if (is_plain(type)) return buffer;
    MPI_Aint lb;
    PMPI_Type_get_extent(type, &lb, &r->stride);
    r->stride *= count;
    r->target = buffer;
    r->blocks = n;
    r->bytes = bytes;
    r->count = count;
    r->derived = 1;
    /* The program may free its type before the collective has ended. */
    PMPI_Type_dup(type, &r->type);
    return r->get = memory(bytes * (size_t)n);
}

static size_t length(int count, MPI_Datatype type) {
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    return size > 0 ? (size_t)count * (size_t)size : 0;
}

/* Bytes of a block. 0 for none, for more than packing counts, and for a type or a number of elements that MPI refuses.
   */
static size_t bytes_of(int count, MPI_Datatype type) {
    size_t bytes = count > 0 && is_usable(type) ? length(count, type) : 0;
    return bytes <= INT_MAX ? bytes : 0;
}

/* True for a buffer that has no data. With MPI_BOTTOM, a null pointer, the addresses are in the type. */
static int is_nothing(const void *buffer, MPI_Datatype type) {
    return buffer == MPI_IN_PLACE || (!buffer && is_plain(type));
}

/* True if MPI refuses two buffers because they are the same. MPICH does so, Open MPI does not. */
static int is_twice(const void *from, const void *to) {
#ifdef OPEN_MPI
    (void)from, (void)to;
    return 0;
#else
    return from == to;
#endif
}

/* Block `i` of a buffer of blocks. */
static const char *block(const void *buffer, int i, int count, MPI_Datatype type) {
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(type, &lb, &extent);
    return (const char *)buffer + (MPI_Aint)i * count * extent;
}

#define LEAVE(reason, call)                                     \
    do {                                                        \
        __atomic_add_fetch(&left[reason], 1, __ATOMIC_RELAXED); \
        return call;                                            \
    } while (0)
/* GOAL's function for the communicator: of all ranks, or of the group. */
#define START(c, name, ...) \
    ((c)->group ? goal.goal_group_##name((c)->group, __VA_ARGS__) : goal.goal_##name(__VA_ARGS__))

/* ---- collectives ---- */
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c) LEAVE(COMMUNICATOR, PMPI_Ibarrier(comm, request));
    struct request *r = new_request();
    return give_request(r, comm, BARRIER, START(c, ibarrier, &r->run), request);
}

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c || root < 0 || root >= c->size) LEAVE(COMMUNICATOR, PMPI_Ibcast(buffer, count, type, root, comm, request));
    size_t bytes = bytes_of(count, type);
    if (!bytes) LEAVE(AMOUNT, PMPI_Ibcast(buffer, count, type, root, comm, request));
    if (is_nothing(buffer, type)) LEAVE(ARGUMENTS, PMPI_Ibcast(buffer, count, type, root, comm, request));
    struct request *r = new_request();
    const void *give = buffer;
    void *get = buffer;
    if (c->rank != root) {
        give = get = for_bytes(r, buffer, 1, count, type, bytes);
    } else if (!is_plain(type)) {
        give = get = (void *)as_bytes(buffer, 1, count, type, bytes, 0, &r->give);
    }
    return give_request(r, comm, BCAST, START(c, ibroadcast, give, get, bytes, root, &r->run), request);
}

int MPI_Ireduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm,
                MPI_Request *request) {
    struct comm *c = record(comm);
    int goal_type = element(type), goal_op = goal_type ? operation(op, goal_type) : -1;
    if (!c || root < 0 || root >= c->size)
        LEAVE(COMMUNICATOR, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    if (!goal_type) LEAVE(TYPE, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    if (goal_op < 0) LEAVE(OPERATION, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    if (count <= 0) LEAVE(AMOUNT, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    int here = c->rank == root, in_place = from == MPI_IN_PLACE;
    if (here ? is_nothing(to, type) || is_twice(from, to) || !from : !from || in_place)
        LEAVE(ARGUMENTS, PMPI_Ireduce(from, to, count, type, op, root, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) from = as_bytes(to, 1, count, type, length(count, type), 1, &r->give);
    int code = START(c, ireduce, from, to, (size_t)count, goal_type, goal_op, root, &r->run);
    return give_request(r, comm, REDUCE, code, request);
}

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request) {
    struct comm *c = record(comm);
    int goal_type = element(type), goal_op = goal_type ? operation(op, goal_type) : -1;
    if (!c) LEAVE(COMMUNICATOR, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    if (!goal_type) LEAVE(TYPE, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    if (goal_op < 0) LEAVE(OPERATION, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    if (count <= 0) LEAVE(AMOUNT, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    if (!from || is_nothing(to, type) || is_twice(from, to))
        LEAVE(ARGUMENTS, PMPI_Iallreduce(from, to, count, type, op, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) from = as_bytes(to, 1, count, type, length(count, type), 1, &r->give);
    int code = START(c, iallreduce, from, to, (size_t)count, goal_type, goal_op, &r->run);
    return give_request(r, comm, ALLREDUCE, code, request);
}

int MPI_Ireduce_scatter_block(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request) {
    struct comm *c = record(comm);
    int goal_type = element(type), goal_op = goal_type ? operation(op, goal_type) : -1;
    if (!c) LEAVE(COMMUNICATOR, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    if (!goal_type) LEAVE(TYPE, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    if (goal_op < 0) LEAVE(OPERATION, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    if (count <= 0) LEAVE(AMOUNT, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    if (!from || is_nothing(to, type) || is_twice(from, to))
        LEAVE(ARGUMENTS, PMPI_Ireduce_scatter_block(from, to, count, type, op, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) from = as_bytes(to, c->size, count, type, length(count, type), 1, &r->give);
    int code = START(c, ireduce_scatter, from, to, (size_t)count, goal_type, goal_op, &r->run);
    return give_request(r, comm, REDUCE_SCATTER, code, request);
}

int MPI_Ialltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c) LEAVE(COMMUNICATOR, PMPI_Ialltoall(from, count, type, to, to_count, to_type, comm, request));
    size_t bytes = bytes_of(to_count, to_type);
    if (!bytes) LEAVE(AMOUNT, PMPI_Ialltoall(from, count, type, to, to_count, to_type, comm, request));
    int unlike = from != MPI_IN_PLACE && (bytes_of(count, type) != bytes || is_nothing(from, type));
    if (unlike || is_nothing(to, to_type) || (is_twice(from, to) && type == to_type))
        LEAVE(ARGUMENTS, PMPI_Ialltoall(from, count, type, to, to_count, to_type, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE)
        from = as_bytes(to, c->size, to_count, to_type, bytes, 1, &r->give);
    else
        from = as_bytes(from, c->size, count, type, bytes, 0, &r->give);
    to = for_bytes(r, to, c->size, to_count, to_type, bytes);
    return give_request(r, comm, ALLTOALL, START(c, ialltoall, from, to, bytes, &r->run), request);
}

int MPI_Iallgather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                   MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c) LEAVE(COMMUNICATOR, PMPI_Iallgather(from, count, type, to, to_count, to_type, comm, request));
    size_t bytes = bytes_of(to_count, to_type);
    if (!bytes) LEAVE(AMOUNT, PMPI_Iallgather(from, count, type, to, to_count, to_type, comm, request));
    const char *mine = block(to, c->rank, to_count, to_type);
    int unlike = from != MPI_IN_PLACE && (bytes_of(count, type) != bytes || is_nothing(from, type));
    if (unlike || is_nothing(to, to_type) || (is_twice(from, mine) && type == to_type))
        LEAVE(ARGUMENTS, PMPI_Iallgather(from, count, type, to, to_count, to_type, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) {
        from = as_bytes(mine, 1, to_count, to_type, bytes, 1, &r->give);
    } else {
        from = as_bytes(from, 1, count, type, bytes, 0, &r->give);
    }
    to = for_bytes(r, to, c->size, to_count, to_type, bytes);
    return give_request(r, comm, ALLGATHER, START(c, iallgather, from, to, bytes, &r->run), request);
}

/* The root's number of bytes is that of one block, as is everybody's. */
int MPI_Igather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, int root,
                MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c || root < 0 || root >= c->size)
        LEAVE(COMMUNICATOR, PMPI_Igather(from, count, type, to, to_count, to_type, root, comm, request));
    int here = c->rank == root, in_place = here && from == MPI_IN_PLACE;
    size_t bytes = here ? bytes_of(to_count, to_type) : bytes_of(count, type);
    if (!bytes) LEAVE(AMOUNT, PMPI_Igather(from, count, type, to, to_count, to_type, root, comm, request));
    const char *mine = here ? block(to, root, to_count, to_type) : NULL;
    int unlike = !in_place && (bytes_of(count, type) != bytes || is_nothing(from, type));
    if (unlike || (here && (is_nothing(to, to_type) || (is_twice(from, mine) && type == to_type))))
        LEAVE(ARGUMENTS, PMPI_Igather(from, count, type, to, to_count, to_type, root, comm, request));
    struct request *r = new_request();
    if (in_place)
        from = as_bytes(mine, 1, to_count, to_type, bytes, 1, &r->give);
    else
        from = as_bytes(from, 1, count, type, bytes, 0, &r->give);
    void *get = here ? for_bytes(r, to, c->size, to_count, to_type, bytes) : NULL;
    return give_request(r, comm, GATHER, START(c, igather, from, get, bytes, root, &r->run), request);
}

int MPI_Iscatter(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type, int root,
                 MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c || root < 0 || root >= c->size)
        LEAVE(COMMUNICATOR, PMPI_Iscatter(from, count, type, to, to_count, to_type, root, comm, request));
    int here = c->rank == root, in_place = here && to == MPI_IN_PLACE;
    size_t bytes = here ? bytes_of(count, type) : bytes_of(to_count, to_type);
    if (!bytes) LEAVE(AMOUNT, PMPI_Iscatter(from, count, type, to, to_count, to_type, root, comm, request));
    int unlike = !in_place && (bytes_of(to_count, to_type) != bytes || is_nothing(to, to_type));
    int twice = here && is_twice(to, block(from, root, count, type)) && type == to_type;
    if (unlike || twice || (here && is_nothing(from, type)))
        LEAVE(ARGUMENTS, PMPI_Iscatter(from, count, type, to, to_count, to_type, root, comm, request));
    struct request *r = new_request();
    if (here) from = as_bytes(from, c->size, count, type, bytes, 0, &r->give);
    /* The root's block stays where it is; what GOAL gives it goes nowhere. */
    void *get = in_place ? (r->get = memory(bytes)) : for_bytes(r, to, 1, to_count, to_type, bytes);
    return give_request(r, comm, SCATTER, START(c, iscatter, from, get, bytes, root, &r->run), request);
}

int MPI_Iscan(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request *request) {
    struct comm *c = record(comm);
    int goal_type = element(type), goal_op = goal_type ? operation(op, goal_type) : -1;
    if (!c) LEAVE(COMMUNICATOR, PMPI_Iscan(from, to, count, type, op, comm, request));
    if (!goal_type) LEAVE(TYPE, PMPI_Iscan(from, to, count, type, op, comm, request));
    if (goal_op < 0) LEAVE(OPERATION, PMPI_Iscan(from, to, count, type, op, comm, request));
    if (count <= 0) LEAVE(AMOUNT, PMPI_Iscan(from, to, count, type, op, comm, request));
    if (!from || is_nothing(to, type) || is_twice(from, to))
        LEAVE(ARGUMENTS, PMPI_Iscan(from, to, count, type, op, comm, request));
    struct request *r = new_request();
    if (from == MPI_IN_PLACE) from = as_bytes(to, 1, count, type, length(count, type), 1, &r->give);
    int code = START(c, iscan, from, to, (size_t)count, goal_type, goal_op, &r->run);
    return give_request(r, comm, SCAN, code, request);
}

/* True if a rank is a neighbour twice, as in a periodic dimension of one or two ranks. The order of the messages to it
   is then MPI's affair. */
static int has_twice(const int *all, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (all[i] == all[k] && all[i] != MPI_PROC_NULL) return 1;
    return 0;
}

int find_neighbours(MPI_Comm comm, struct comm *c) {
    int kind, n, weighted;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &n);
        c->sources = c->destinations = 2 * n;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &c->sources, &c->destinations, &weighted);
    } else {
        return 0;
    }
    size_t in = (size_t)c->sources + 1, out = (size_t)c->destinations + 1;
    c->from = memory(sizeof(int) * in);
    c->to = memory(sizeof(int) * out);
    if (kind == MPI_CART) {
        for (int d = 0; d < n; d++) PMPI_Cart_shift(comm, d, 1, &c->from[2 * d], &c->from[2 * d + 1]);
        memcpy(c->to, c->from, sizeof(int) * in);
    } else {
        int *weights = memory(sizeof(int) * (in + out));
        PMPI_Dist_graph_neighbors(comm, c->sources, c->from, weights, c->destinations, c->to, weights + in);
        free(weights);
    }
    int alone = 1;
    for (int i = 0; i < c->sources; i++) alone = alone && c->from[i] == MPI_PROC_NULL;
    for (int i = 0; i < c->destinations; i++) alone = alone && c->to[i] == MPI_PROC_NULL;
    return !alone && !has_twice(c->from, c->sources) && !has_twice(c->to, c->destinations);
}

/* Writes the numbers of the real neighbours to `real` and their places to `places`. Returns how many there are. */
static int real_neighbours(const int *all, int n, int *real, int *places) {
    int found = 0;
    for (int i = 0; i < n; i++) {
        if (all[i] == MPI_PROC_NULL) continue;
        real[found] = all[i];
        places[found++] = i;
    }
    return found;
}

int MPI_Ineighbor_alltoall(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                           MPI_Comm comm, MPI_Request *request) {
    struct comm *c = record(comm);
    if (!c || !c->group)
        LEAVE(COMMUNICATOR, PMPI_Ineighbor_alltoall(from, count, type, to, to_count, to_type, comm, request));
    if (!c->clear) LEAVE(TOPOLOGY, PMPI_Ineighbor_alltoall(from, count, type, to, to_count, to_type, comm, request));
    size_t most = (size_t)(c->sources > c->destinations ? c->sources : c->destinations) + 1;
    int *sources = memory(4 * sizeof(int) * most), *destinations = sources + most, *places = destinations + most;
    int *slots = places + most;
    int n_from = real_neighbours(c->from, c->sources, sources, slots);
    int n_to = real_neighbours(c->to, c->destinations, destinations, places);
    /* A rank that only sends has an amount on that side alone. */
    size_t bytes = n_from ? bytes_of(to_count, to_type) : bytes_of(count, type);
    int unlike = (n_from && is_nothing(to, to_type)) ||
                 (n_to && (bytes_of(count, type) != bytes || is_nothing(from, type)));
    if (!bytes || unlike) {
        free(sources);
        LEAVE(bytes ? ARGUMENTS : AMOUNT, PMPI_Ineighbor_alltoall(from, count, type, to, to_count, to_type, comm,
                                                                  request));
    }
    struct request *r = new_request();
    /* Places of the output stay with the request. */
    r->slots = memcpy(memory(sizeof(int) * most), slots, sizeof(int) * most);
    if (n_to) from = as_bytes(from, c->destinations, count, type, bytes, n_to < c->destinations, &r->give);
    for (int i = 0; i < n_to; i++) {
        /* Only in a copy are there places without a neighbour; later blocks move up. */
        if (places[i] != i)
            memcpy((char *)r->give + bytes * (size_t)i, (char *)r->give + bytes * (size_t)places[i], bytes);
    }
    void *get = n_from ? for_bytes(r, to, n_from, to_count, to_type, bytes) : to;
    if (!r->get && n_from && n_from < c->sources) {
        r->target = to;
        r->blocks = n_from;
        r->bytes = bytes;
        r->stride = (MPI_Aint)bytes;
        get = r->get = memory(bytes * (size_t)n_from);
    }
    int code = goal.goal_group_ineighbor_alltoall(c->group, sources, n_from, destinations, n_to, from, get, bytes,
                                                  &r->run);
    free(sources);
    return give_request(r, comm, NEIGHBOR, code, request);
}
