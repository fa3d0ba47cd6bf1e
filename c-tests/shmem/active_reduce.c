/* The deprecated reductions over active sets, of every type and operation: shmem_TYPE_OP_to_all.
 * shmem-test: peer=yes
 * shmem-test: flags=-Wno-deprecated-declarations */
#include "shtest.h"
#include "types.h"
#include <complex.h>

enum { N = 40 };
#define WORK (N / 2 + 1 > SHMEM_REDUCE_MIN_WRKDATA_SIZE ? N / 2 + 1 : SHMEM_REDUCE_MIN_WRKDATA_SIZE)

static long syncs[2][SHMEM_REDUCE_SYNC_SIZE], barrier_sync[SHMEM_BARRIER_SYNC_SIZE];
static int turn;

#define GIVEN(TYPE, pe, i) ((TYPE)(((pe) + (i)) % 3 == 0 ? 2 : 1))
#define BITS(TYPE, pe, i) ((TYPE)(0x55 ^ ((pe) * 5 + (i) * 3)))
#define COMPLEX(TYPE, pe, i) ((TYPE)(((pe) % 3 + 1) + (((i) + (pe)) % 2) * (TYPE)I))

#define REDUCE(TYPE, CALL, GIVE, STEP) \
    do { \
        for (int in_place = 0; in_place < 2; in_place++) { \
            TYPE *to = in_place ? source : target; \
            for (int i = 0; i < N; i++) { source[i] = GIVE(TYPE, rank, i); target[i] = 0; } \
            shmem_barrier(start, log_stride, size, barrier_sync); \
            CALL(to, source, N, start, log_stride, size, work[turn % 2], syncs[turn % 2]); \
            turn++; \
            for (int i = 0; i < N; i++) { \
                TYPE expected = GIVE(TYPE, 0, i); \
                for (int pe = 1; pe < size; pe++) { TYPE other = GIVE(TYPE, pe, i); STEP; } \
                CHECK(to[i] == expected); \
            } \
            shmem_barrier(start, log_stride, size, barrier_sync); \
        } \
    } while (0)

#define BUFFERS(TYPE) static TYPE source[N], target[N], work[2][WORK]

#define BITWISE(NAME, TYPE) \
    static void bitwise_##NAME(int start, int log_stride, int size, int rank) { \
        BUFFERS(TYPE); \
        REDUCE(TYPE, shmem_##NAME##_and_to_all, BITS, expected = (TYPE)(expected & other)); \
        REDUCE(TYPE, shmem_##NAME##_or_to_all, BITS, expected = (TYPE)(expected | other)); \
        REDUCE(TYPE, shmem_##NAME##_xor_to_all, BITS, expected = (TYPE)(expected ^ other)); \
    }
TO_ALL_BITWISE_TYPES(BITWISE)

#define ORDERED(NAME, TYPE) \
    static void ordered_##NAME(int start, int log_stride, int size, int rank) { \
        BUFFERS(TYPE); \
        REDUCE(TYPE, shmem_##NAME##_max_to_all, VALUE, expected = other > expected ? other : expected); \
        REDUCE(TYPE, shmem_##NAME##_min_to_all, VALUE, expected = other < expected ? other : expected); \
        REDUCE(TYPE, shmem_##NAME##_sum_to_all, GIVEN, expected = (TYPE)(expected + other)); \
        REDUCE(TYPE, shmem_##NAME##_prod_to_all, GIVEN, expected = (TYPE)(expected * other)); \
    }
TO_ALL_ORDERED_TYPES(ORDERED)

#define COMPLEX_TEST(NAME, TYPE) \
    static void complex_##NAME(int start, int log_stride, int size, int rank) { \
        BUFFERS(TYPE); \
        REDUCE(TYPE, shmem_##NAME##_sum_to_all, COMPLEX, expected = expected + other); \
        REDUCE(TYPE, shmem_##NAME##_prod_to_all, COMPLEX, expected = expected * other); \
    }
REDUCE_COMPLEX_TYPES(COMPLEX_TEST)

static void on(int start, int log_stride, int size) {
    int rank = -1;
    for (int i = 0; i < size; i++) {
        if (start + (i << log_stride) == me) {
            rank = i;
        }
    }
    if (rank < 0) {
        return;
    }
#define CALL_BITWISE(NAME, TYPE) bitwise_##NAME(start, log_stride, size, rank);
#define CALL_ORDERED(NAME, TYPE) ordered_##NAME(start, log_stride, size, rank);
#define CALL_COMPLEX(NAME, TYPE) complex_##NAME(start, log_stride, size, rank);
    TO_ALL_BITWISE_TYPES(CALL_BITWISE)
    TO_ALL_ORDERED_TYPES(CALL_ORDERED)
    REDUCE_COMPLEX_TYPES(CALL_COMPLEX)
}

int main(void) {
    test_begin();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) {
        syncs[0][i] = syncs[1][i] = SHMEM_SYNC_VALUE;
    }
    for (int i = 0; i < SHMEM_BARRIER_SYNC_SIZE; i++) {
        barrier_sync[i] = SHMEM_SYNC_VALUE;
    }
    shmem_barrier_all();
    on(0, 0, npes);
    shmem_barrier_all();
    on(npes > 1, 0, npes > 1 ? npes - 1 : 1);
    shmem_barrier_all();
    on(me % 2, 1, npes > 1 ? (npes + 1 - me % 2) / 2 : 1);
    shmem_barrier_all();
    return test_end("active_reduce");
}
