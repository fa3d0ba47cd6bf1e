/* The type-generic forms of C11, with and without a context, for every type of the tables.
 * shmem-test: flags=-std=c11 -D_POSIX_C_SOURCE=200809L */
#include "shtest.h"
#include "types.h"

#if __STDC_VERSION__ < 201112L
#error "this test is about C11"
#endif

static shmem_ctx_t ctx;

#define RMA(NAME, TYPE) \
    static TYPE rma_##NAME[8]; \
    static uint64_t sig_##NAME; \
    static void test_rma_##NAME(void) { \
        TYPE source[8], found[8] = {0}; \
        const TYPE *fixed = source; \
        TYPE *target = rma_##NAME; \
        for (int i = 0; i < 8; i++) { source[i] = VALUE(TYPE, me, i); target[i] = 0; } \
        shmem_barrier_all(); \
        shmem_p(&target[0], source[0], next); \
        shmem_p(ctx, &target[1], source[1], next); \
        shmem_put(&target[2], &fixed[2], 1, next); \
        shmem_put(ctx, &target[3], &source[3], 1, next); \
        shmem_put_nbi(&target[4], &source[4], 1, next); \
        shmem_put_nbi(ctx, &target[5], &source[5], 1, next); \
        shmem_iput(&target[6], &source[6], 1, 1, 1, next); \
        shmem_iput(ctx, &target[7], &source[7], 1, 1, 1, next); \
        shmem_ctx_quiet(ctx); \
        shmem_barrier_all(); \
        for (int i = 0; i < 8; i++) CHECK(target[i] == VALUE(TYPE, prev, i)); \
        found[0] = shmem_g(&target[0], next); \
        found[1] = shmem_g(ctx, &target[1], next); \
        shmem_get(&found[2], &target[2], 1, next); \
        shmem_get(ctx, &found[3], &target[3], 1, next); \
        shmem_get_nbi(&found[4], &target[4], 1, next); \
        shmem_get_nbi(ctx, &found[5], &target[5], 1, next); \
        shmem_iget(&found[6], &target[6], 1, 1, 1, next); \
        shmem_iget(ctx, &found[7], &target[7], 1, 1, 1, next); \
        shmem_quiet(); \
        shmem_ctx_quiet(ctx); \
        for (int i = 0; i < 8; i++) CHECK(found[i] == source[i]); \
        CHECK(_Generic(shmem_g(&target[0], next), TYPE: 1, default: 0)); \
        shmem_barrier_all(); \
        shmem_put_signal(&target[0], &source[1], 1, &sig_##NAME, 1, SHMEM_SIGNAL_ADD, next); \
        shmem_put_signal(ctx, &target[1], &source[2], 1, &sig_##NAME, 1, SHMEM_SIGNAL_ADD, next); \
        shmem_put_signal_nbi(&target[2], &source[3], 1, &sig_##NAME, 1, SHMEM_SIGNAL_ADD, next); \
        shmem_put_signal_nbi(ctx, &target[3], &source[4], 1, &sig_##NAME, 1, SHMEM_SIGNAL_ADD, next); \
        shmem_signal_wait_until(&sig_##NAME, SHMEM_CMP_EQ, 4); \
        for (int i = 0; i < 4; i++) CHECK(target[i] == VALUE(TYPE, prev, i + 1)); \
        shmem_ctx_quiet(ctx); \
        shmem_barrier_all(); \
        TYPE *wide = shmem_malloc((size_t)npes * 2 * sizeof(TYPE)); \
        TYPE *wide_source = shmem_malloc((size_t)npes * 2 * sizeof(TYPE)); \
        for (int i = 0; i < npes * 2; i++) wide_source[i] = VALUE(TYPE, me, i); \
        CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, wide, wide_source, 2, npes - 1) == 0); \
        CHECK(wide[1] == VALUE(TYPE, npes - 1, 1)); \
        shmem_barrier_all(); \
        CHECK(shmem_collect(SHMEM_TEAM_WORLD, wide, wide_source, 1) == 0); \
        CHECK(wide[npes - 1] == VALUE(TYPE, npes - 1, 0)); \
        shmem_barrier_all(); \
        CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, wide, wide_source, 2) == 0); \
        CHECK(wide[npes * 2 - 1] == VALUE(TYPE, npes - 1, 1)); \
        shmem_barrier_all(); \
        CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, wide, wide_source, 2) == 0); \
        CHECK(wide[npes * 2 - 1] == VALUE(TYPE, npes - 1, me * 2 + 1)); \
        shmem_barrier_all(); \
        CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, wide, wide_source, 1, 1, 1) == 0); \
        CHECK(wide[npes - 1] == VALUE(TYPE, npes - 1, me)); \
        shmem_free(wide_source); \
        shmem_free(wide); \
    }
/* size_t, ptrdiff_t and the exact-width types are other names of the types before them. */
RMA_TYPES(RMA)

#define AMO(NAME, TYPE) \
    static TYPE amo_##NAME[2]; \
    static void test_amo_##NAME(void) { \
        TYPE *w = amo_##NAME, got[5]; \
        w[0] = w[1] = 10; \
        shmem_barrier_all(); \
        CHECK(shmem_atomic_compare_swap(&w[0], 10, 20, next) == 10); \
        CHECK(shmem_atomic_compare_swap(ctx, &w[0], 20, 30, next) == 20); \
        CHECK(shmem_atomic_fetch_inc(&w[0], next) == 30 && shmem_atomic_fetch_inc(ctx, &w[0], next) == 31); \
        CHECK(shmem_atomic_fetch_add(&w[0], 2, next) == 32 && shmem_atomic_fetch_add(ctx, &w[0], 2, next) == 34); \
        shmem_atomic_inc(&w[0], next); \
        shmem_atomic_inc(ctx, &w[0], next); \
        shmem_atomic_add(&w[0], 3, next); \
        shmem_atomic_add(ctx, &w[0], 3, next); \
        shmem_ctx_quiet(ctx); \
        shmem_barrier_all(); \
        CHECK(w[0] == 44); \
        shmem_barrier_all(); \
        shmem_atomic_fetch_inc_nbi(&got[0], &w[1], next); \
        shmem_quiet(); \
        shmem_atomic_fetch_inc_nbi(ctx, &got[1], &w[1], next); \
        shmem_ctx_quiet(ctx); \
        shmem_atomic_fetch_add_nbi(&got[2], &w[1], 5, next); \
        shmem_quiet(); \
        shmem_atomic_fetch_add_nbi(ctx, &got[3], &w[1], 5, next); \
        shmem_ctx_quiet(ctx); \
        shmem_atomic_compare_swap_nbi(&got[4], &w[1], 22, 9, next); \
        shmem_quiet(); \
        CHECK(got[0] == 10 && got[1] == 11 && got[2] == 12 && got[3] == 17 && got[4] == 22); \
        shmem_atomic_compare_swap_nbi(ctx, &got[4], &w[1], 9, 8, next); \
        shmem_ctx_quiet(ctx); \
        CHECK(got[4] == 9); \
        shmem_barrier_all(); \
        CHECK(w[1] == 8); \
        shmem_wait_until(&w[1], SHMEM_CMP_EQ, 8); \
        size_t indices[2]; \
        TYPE values[2] = {44, 8}; \
        CHECK(shmem_test(&w[1], SHMEM_CMP_EQ, 8) && !shmem_test(&w[1], SHMEM_CMP_EQ, 7)); \
        shmem_wait_until_all(w, 2, NULL, SHMEM_CMP_GT, 7); \
        CHECK(shmem_wait_until_any(w, 2, NULL, SHMEM_CMP_EQ, 8) == 1); \
        CHECK(shmem_wait_until_some(w, 2, indices, NULL, SHMEM_CMP_GT, 7) == 2); \
        CHECK(shmem_test_all(w, 2, NULL, SHMEM_CMP_GT, 7)); \
        CHECK(shmem_test_any(w, 2, NULL, SHMEM_CMP_EQ, 44) == 0); \
        CHECK(shmem_test_some(w, 2, indices, NULL, SHMEM_CMP_EQ, 8) == 1); \
        shmem_wait_until_all_vector(w, 2, NULL, SHMEM_CMP_EQ, values); \
        CHECK(shmem_wait_until_any_vector(w, 2, NULL, SHMEM_CMP_EQ, values) <= 1); \
        CHECK(shmem_wait_until_some_vector(w, 2, indices, NULL, SHMEM_CMP_EQ, values) == 2); \
        CHECK(shmem_test_all_vector(w, 2, NULL, SHMEM_CMP_EQ, values)); \
        CHECK(shmem_test_any_vector(w, 2, NULL, SHMEM_CMP_EQ, values) <= 1); \
        CHECK(shmem_test_some_vector(w, 2, indices, NULL, SHMEM_CMP_EQ, values) == 2); \
        shmem_barrier_all(); \
    }
AMO_TYPES(AMO)

#define EXTENDED(NAME, TYPE) \
    static TYPE ext_##NAME; \
    static void test_ext_##NAME(void) { \
        TYPE *w = &ext_##NAME, got[4]; \
        *w = 1; \
        shmem_barrier_all(); \
        CHECK(shmem_atomic_fetch(w, next) == 1 && shmem_atomic_fetch(ctx, w, next) == 1); \
        CHECK(shmem_atomic_swap(w, 2, next) == 1 && shmem_atomic_swap(ctx, w, 3, next) == 2); \
        shmem_atomic_fetch_nbi(&got[0], w, next); \
        shmem_atomic_fetch_nbi(ctx, &got[1], w, next); \
        shmem_quiet(); \
        shmem_ctx_quiet(ctx); \
        shmem_atomic_swap_nbi(&got[2], w, 4, next); \
        shmem_quiet(); \
        shmem_atomic_swap_nbi(ctx, &got[3], w, 5, next); \
        shmem_ctx_quiet(ctx); \
        CHECK(got[0] == 3 && got[1] == 3 && got[2] == 3 && got[3] == 4); \
        shmem_atomic_set(w, 6, next); \
        shmem_barrier_all(); \
        CHECK(*w == 6); \
        shmem_barrier_all(); \
        shmem_atomic_set(ctx, w, 7, next); \
        shmem_ctx_quiet(ctx); \
        shmem_barrier_all(); \
        CHECK(*w == 7); \
        shmem_barrier_all(); \
    }
AMO_EXTENDED_TYPES(EXTENDED)

#define BITWISE(NAME, TYPE) \
    static TYPE bit_##NAME; \
    static void test_bit_##NAME(void) { \
        TYPE *w = &bit_##NAME, got[3]; \
        *w = 1; \
        shmem_barrier_all(); \
        CHECK(shmem_atomic_fetch_or(w, 6, next) == 1 && shmem_atomic_fetch_or(ctx, w, 8, next) == 7); \
        CHECK(shmem_atomic_fetch_and(w, 14, next) == 15 && shmem_atomic_fetch_and(ctx, w, 12, next) == 14); \
        CHECK(shmem_atomic_fetch_xor(w, 1, next) == 12 && shmem_atomic_fetch_xor(ctx, w, 2, next) == 13); \
        shmem_atomic_fetch_or_nbi(&got[0], w, 16, next); \
        shmem_quiet(); \
        shmem_atomic_fetch_and_nbi(ctx, &got[1], w, 30, next); \
        shmem_ctx_quiet(ctx); \
        shmem_atomic_fetch_xor_nbi(&got[2], w, 1, next); \
        shmem_quiet(); \
        CHECK(got[0] == 15 && got[1] == 31 && got[2] == 30); \
        shmem_atomic_or(w, 32, next); \
        shmem_atomic_or(ctx, w, 64, next); \
        shmem_quiet(); \
        shmem_ctx_quiet(ctx); \
        shmem_atomic_and(w, 127, next); \
        shmem_atomic_and(ctx, w, 126, next); \
        shmem_ctx_quiet(ctx); \
        shmem_quiet(); \
        shmem_atomic_xor(w, 2, next); \
        shmem_atomic_xor(ctx, w, 4, next); \
        shmem_ctx_quiet(ctx); \
        shmem_barrier_all(); \
        CHECKF(*w == 120, "%lu", (unsigned long)*w); \
        shmem_barrier_all(); \
    }
AMO_BITWISE_TYPES(BITWISE)

#define REDUCED(NAME, TYPE) \
    static TYPE red_##NAME[2]; \
    static void test_red_##NAME(void) { \
        TYPE *w = red_##NAME; \
        w[0] = (TYPE)(me + 1); \
        shmem_barrier_all(); \
        CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == (TYPE)npes); \
        shmem_barrier_all(); \
        CHECK(shmem_min_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == 1); \
        shmem_barrier_all(); \
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == (TYPE)(npes * (npes + 1) / 2)); \
        shmem_barrier_all(); \
        w[0] = 1; \
        shmem_barrier_all(); \
        CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == 1); \
        shmem_barrier_all(); \
    }
REDUCE_ORDERED_TYPES(REDUCED)

#define COMPLEX(NAME, TYPE) \
    static TYPE cpx_##NAME[2]; \
    static void test_cpx_##NAME(void) { \
        TYPE *w = cpx_##NAME; \
        w[0] = 2; \
        shmem_barrier_all(); \
        CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == (TYPE)(2 * npes)); \
        shmem_barrier_all(); \
        w[0] = 1; \
        shmem_barrier_all(); \
        CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == 1); \
        shmem_barrier_all(); \
    }
REDUCE_COMPLEX_TYPES(COMPLEX)

static void bits(void) {
    static unsigned int u[2];
    static uint8_t small[2];
    u[0] = 1u << (me % 16) | 0x10000;
    small[0] = 3;
    shmem_barrier_all();
    CHECK(shmem_and_reduce(SHMEM_TEAM_WORLD, &u[1], &u[0], 1) == 0 && u[1] == (npes == 1 ? 0x10001 : 0x10000));
    shmem_barrier_all();
    CHECK(shmem_or_reduce(SHMEM_TEAM_WORLD, &u[1], &u[0], 1) == 0 && u[1] == (0x10000 | ((1u << npes) - 1)));
    shmem_barrier_all();
    CHECK(shmem_xor_reduce(SHMEM_TEAM_WORLD, &small[1], &small[0], 1) == 0 && small[1] == (npes % 2 ? 3 : 0));
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
}

int main(void) {
    test_begin();
    CHECK(shmem_ctx_create(0, &ctx) == 0);
#define CALL_RMA(NAME, TYPE) test_rma_##NAME();
#define CALL_AMO(NAME, TYPE) test_amo_##NAME();
#define CALL_EXT(NAME, TYPE) test_ext_##NAME();
#define CALL_BIT(NAME, TYPE) test_bit_##NAME();
#define CALL_RED(NAME, TYPE) test_red_##NAME();
#define CALL_CPX(NAME, TYPE) test_cpx_##NAME();
    RMA_TYPES(CALL_RMA)
    AMO_TYPES(CALL_AMO)
    AMO_EXTENDED_TYPES(CALL_EXT)
    AMO_BITWISE_TYPES(CALL_BIT)
    REDUCE_ORDERED_TYPES(CALL_RED)
    REDUCE_COMPLEX_TYPES(CALL_CPX)
    bits();
    shmem_ctx_destroy(ctx);
    return test_end("generics");
}
