/* libhetmp_mpi.so, buffers: what GOAL takes of types, operations and buffers, and copies of what is not plain. */
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

int is_plain(MPI_Datatype type) {
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
int is_usable(MPI_Datatype type) {
    char none = 0;
    int at = 0;
    if (known && type == latest) return 1;
    return type != MPI_DATATYPE_NULL && PMPI_Pack(&none, 0, type, &none, sizeof none, &at, own) == MPI_SUCCESS;
}

/* GOAL's number of an element type; 0 if GOAL has none. */
int element(MPI_Datatype type) {
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
    /* Fortran's, whose lengths its compiler's options may set. */
    const MPI_Datatype whole[] = {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8};
    const MPI_Datatype real[] = {MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8};
    int size = type == MPI_DATATYPE_NULL ? 0 : (int)length(1, type);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (whole[i] == type) return size <= 8 ? GOAL_SIGNED(8 * size) : 0;
    for (size_t i = 0; i < sizeof real / sizeof real[0]; i++)
        if (real[i] == type) return size == 4 ? GOAL_FLOAT : size == 8 ? GOAL_DOUBLE : 0;
    return 0;
}

/* GOAL's number of an operation on elements of a type; -1 if GOAL has none, or MPI forbids it. */
int operation(MPI_Op op, int type) {
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
MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lb, extent;
    PMPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

size_t length(MPI_Count count, MPI_Datatype type) {
    MPI_Count size = 0;
    PMPI_Type_size_x(type, &size);
    return size > 0 ? (size_t)count * (size_t)size : 0;
}

size_t bytes_of(MPI_Count count, MPI_Datatype type) {
    size_t bytes = count > 0 && is_usable(type) ? length(count, type) : 0;
    return MPI_VERSION >= 4 || bytes <= INT_MAX ? bytes : 0;
}

int is_nothing(const void *buffer, MPI_Datatype type) {
    return buffer == MPI_IN_PLACE || (!buffer && is_plain(type));
}

#if MPI_VERSION < 4
/* More bytes than packing counts: a message to this process itself. */
static int move_large(void *block, int count, MPI_Datatype type, void *packed, size_t bytes, int back) {
    enum { MANY = 1 << 20 };
    MPI_Datatype many, all, types[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
    int lengths[2] = {(int)(bytes / MANY), (int)(bytes % MANY)};
    MPI_Aint places[2] = {0, (MPI_Aint)(bytes - bytes % MANY)};
    PMPI_Type_contiguous(MANY, MPI_BYTE, &many);
    types[0] = many;
    PMPI_Type_create_struct(2, lengths, places, types, &all);
    PMPI_Type_commit(&all);
    int error = back ? PMPI_Sendrecv(packed, 1, all, 0, 0, block, count, type, 0, 0, own, MPI_STATUS_IGNORE) :
        PMPI_Sendrecv(block, count, type, 0, 0, packed, 1, all, 0, 0, own, MPI_STATUS_IGNORE);
    PMPI_Type_free(&all);
    PMPI_Type_free(&many);
    return error;
}
#endif

int move_block(void *block, MPI_Count count, MPI_Datatype type, void *packed, size_t bytes, int back) {
    char base = 0;
    MPI_Aint shift;
    if (block) {
#if MPI_VERSION >= 4
        MPI_Count at = 0, n = (MPI_Count)bytes;
        return back ? PMPI_Unpack_c(packed, n, &at, block, count, type, own) :
            PMPI_Pack_c(block, count, type, packed, n, &at, own);
#else
        int at = 0, n = (int)bytes;
        if (bytes > INT_MAX) return move_large(block, (int)count, type, packed, bytes, back);
        return back ? PMPI_Unpack(packed, n, &at, block, (int)count, type, own) :
            PMPI_Pack(block, (int)count, type, packed, n, &at, own);
#endif
    }
    /* MPI_BOTTOM, which MPICH's packing refuses: the same elements, seen from another address. */
    PMPI_Get_address(&base, &shift);
    shift = -shift;
#if MPI_VERSION >= 4
    MPI_Count at = shift;
    PMPI_Type_create_hindexed_c(1, &count, &at, type, &type);
#else
    int all = (int)count;
    PMPI_Type_create_hindexed(1, &all, &shift, type, &type);
#endif
    PMPI_Type_commit(&type);
    int error = move_block(&base, 1, type, packed, bytes, back);
    PMPI_Type_free(&type);
    return error;
}

const void *as_bytes(const void *buffer, int n, MPI_Count count, MPI_Datatype type, size_t bytes, int copy,
                     void **made) {
    size_t all = bytes * (size_t)n;
    if (is_plain(type)) {
        if (!copy) return buffer;
        return *made = memcpy(memory(all), buffer, all);
    }
    *made = memory(all);
    MPI_Aint stride = (MPI_Aint)count * extent_of(type);
    for (int i = 0; i < n; i++)
        move_block((char *)buffer + i * stride, count, type, (char *)*made + (size_t)i * bytes, bytes, 0);
    return *made;
}

void add_part(struct request *r, void *to, void *from, MPI_Count count, MPI_Datatype type, size_t bytes) {
    struct part *p = &r->parts[r->n_parts], *before = r->n_parts ? p - 1 : NULL;
    *p = (struct part){.to = to, .from = from, .count = count, .of = type, .bytes = bytes, .type = type};
    r->n_parts++;
    if (is_plain(type)) return;
    p->derived = 1;
    if (before && before->derived && before->of == type) {
        p->type = before->type;
        return;
    }
    /* The program may free its type before the collective has ended. */
    p->is_first = 1;
    PMPI_Type_dup(type, &p->type);
}

void *for_bytes(struct request *r, void *buffer, int n, MPI_Count count, MPI_Datatype type, size_t bytes) {
    if (r->unlike) return r->get = memory(bytes * (size_t)n);
    if (is_plain(type)) return buffer;
    MPI_Aint stride = (MPI_Aint)count * extent_of(type);
    r->get = memory(bytes * (size_t)n);
    r->parts = memory(sizeof *r->parts * (size_t)n);
    for (int i = 0; i < n; i++)
        add_part(r, (char *)buffer + i * stride, (char *)r->get + bytes * (size_t)i, count, type, bytes);
    return r->get;
}
