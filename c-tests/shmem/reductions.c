/* Team-based reductions of every type and operation, in place and not, of many lengths, on the world and on parts. */
#include "shtest.h"
#include "types.h"
#include <complex.h>

enum { N = 6 };

/* Contribution of PE `pe` at place `i`: small, so that every type holds the product of all. */
#define GIVEN(TYPE, pe, i) ((TYPE)(((pe) + (i)) % 3 == 0 ? 2 : 1))
#define BITS(TYPE, pe, i) ((TYPE)(0x55 ^ ((pe) * 5 + (i) * 3)))

#define REDUCE(TYPE, CALL, GIVE, START, STEP) \
    do { \
        for (int in_place = 0; in_place < 2; in_place++) { \
            TYPE *to = in_place ? source : target; \
            for (int i = 0; i < N; i++) { source[i] = GIVE(TYPE, rank, i); target[i] = 0; } \
            shmem_team_sync(team); \
            CHECK(CALL(team, to, source, N) == 0); \
            for (int i = 0; i < N; i++) { \
                TYPE expected = START(GIVE(TYPE, 0, i)); \
                for (int pe = 1; pe < size; pe++) { TYPE other = GIVE(TYPE, pe, i); STEP; } \
                CHECK(to[i] == expected); \
                CHECK(in_place || source[i] == GIVE(TYPE, rank, i)); \
            } \
            shmem_team_sync(team); \
        } \
    } while (0)
#define AS_IT_IS(x) (x)

#define BITWISE(NAME, TYPE) \
    static void bitwise_##NAME(shmem_team_t team, int rank, int size) { \
        static TYPE source[N], target[N]; \
        REDUCE(TYPE, shmem_##NAME##_and_reduce, BITS, AS_IT_IS, expected = (TYPE)(expected & other)); \
        REDUCE(TYPE, shmem_##NAME##_or_reduce, BITS, AS_IT_IS, expected = (TYPE)(expected | other)); \
        REDUCE(TYPE, shmem_##NAME##_xor_reduce, BITS, AS_IT_IS, expected = (TYPE)(expected ^ other)); \
    }
REDUCE_BITWISE_TYPES(BITWISE)

#define ORDERED(NAME, TYPE) \
    static void ordered_##NAME(shmem_team_t team, int rank, int size) { \
        static TYPE source[N], target[N]; \
        REDUCE(TYPE, shmem_##NAME##_max_reduce, VALUE, AS_IT_IS, expected = other > expected ? other : expected); \
        REDUCE(TYPE, shmem_##NAME##_min_reduce, VALUE, AS_IT_IS, expected = other < expected ? other : expected); \
        REDUCE(TYPE, shmem_##NAME##_sum_reduce, GIVEN, AS_IT_IS, expected = (TYPE)(expected + other)); \
        REDUCE(TYPE, shmem_##NAME##_prod_reduce, GIVEN, AS_IT_IS, expected = (TYPE)(expected * other)); \
        /* Negative, or large: comparisons are those of the type. */ \
        for (int i = 0; i < N; i++) source[i] = (TYPE)(rank % 2 ? -1 : 1); \
        shmem_team_sync(team); \
        CHECK(shmem_##NAME##_max_reduce(team, target, source, N) == 0); \
        for (int i = 0; i < N; i++) \
            CHECK(target[i] == (size > 1 && (TYPE)-1 > (TYPE)1 ? (TYPE)-1 : (TYPE)1)); \
        shmem_team_sync(team); \
    }
REDUCE_ORDERED_TYPES(ORDERED)

#define COMPLEX(TYPE, pe, i) ((TYPE)(((pe) % 3 + 1) + (((i) + (pe)) % 2) * (TYPE)I))
#define COMPLEX_TEST(NAME, TYPE) \
    static void complex_##NAME(shmem_team_t team, int rank, int size) { \
        static TYPE source[N], target[N]; \
        REDUCE(TYPE, shmem_##NAME##_sum_reduce, COMPLEX, AS_IT_IS, expected = expected + other); \
        REDUCE(TYPE, shmem_##NAME##_prod_reduce, COMPLEX, AS_IT_IS, expected = expected * other); \
    }
REDUCE_COMPLEX_TYPES(COMPLEX_TEST)

static void lengths(void) {
    enum { MOST = 40000 };
    static const size_t all[] = {0, 1, 2, 17, 1000, 8192, MOST};
    long *source = shmem_malloc(MOST * sizeof(long)), *target = shmem_malloc((MOST + 1) * sizeof(long));
    double *reals = shmem_malloc(MOST * sizeof(double));
    for (int l = 0; l < 7; l++) {
        size_t n = all[l], wrong = 0;
        for (size_t i = 0; i < n; i++) {
            source[i] = (long)i * (me + 1);
            reals[i] = 0.25 * (double)i + me;
        }
        for (size_t i = 0; i <= n; i++) {
            target[i] = -5;
        }
        shmem_sync_all();
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, source, n) == 0);
        for (size_t i = 0; i < n; i++) {
            wrong += target[i] != (long)i * npes * (npes + 1) / 2;
        }
        CHECK(target[n] == -5);
        CHECK(shmem_double_max_reduce(SHMEM_TEAM_WORLD, reals, reals, n) == 0);
        for (size_t i = 0; i < n; i++) {
            wrong += reals[i] != 0.25 * (double)i + npes - 1;
        }
        CHECKF(wrong == 0, "%zu of %zu", wrong, n);
        shmem_sync_all();
    }
    shmem_free(reals);
    shmem_free(target);
    shmem_free(source);
}

/* Sums of floating point come out alike on all PEs, bit by bit, and on every run. */
static void alike(void) {
    static double one[64], sum[64], sums[64];
    for (int i = 0; i < 64; i++) {
        one[i] = 1.0 / (3 + me * 7 + i);
    }
    shmem_sync_all();
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, one, 64);
    for (int i = 0; i < 20; i++) {
        shmem_sync_all();
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, one, 64);
        CHECK(memcmp(sum, sums, sizeof sum) == 0);
    }
    shmem_barrier_all();
    double first[64];
    shmem_double_get(first, sum, 64, 0);
    CHECK(memcmp(first, sum, sizeof sum) == 0);
    shmem_barrier_all();
}

static void all(shmem_team_t team) {
    int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
#define CALL_BITWISE(NAME, TYPE) bitwise_##NAME(team, rank, size);
#define CALL_ORDERED(NAME, TYPE) ordered_##NAME(team, rank, size);
#define CALL_COMPLEX(NAME, TYPE) complex_##NAME(team, rank, size);
    REDUCE_BITWISE_TYPES(CALL_BITWISE)
    REDUCE_ORDERED_TYPES(CALL_ORDERED)
    REDUCE_COMPLEX_TYPES(CALL_COMPLEX)
}

int main(void) {
    test_begin();
    all(SHMEM_TEAM_WORLD);
    /* Evens and odds at the same time, each a team. */
    shmem_team_t evens, odds = SHMEM_TEAM_INVALID;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &evens) == 0);
    if (npes > 1) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, npes / 2, NULL, 0, &odds) == 0);
    }
    all(me % 2 ? odds : evens);
    shmem_barrier_all();
    lengths();
    alike();
    shmem_team_destroy(evens);
    shmem_team_destroy(odds);
    return test_end("reductions");
}
