/* shmem_p and shmem_g for every type, on the default context by both of its names, in the heap and in static memory:
 * "Remote Memory Access Routines".
 * shmem-test: peer=yes */
#include "shtest.h"
#include "types.h"

enum { N = 8 };

#define TEST(NAME, TYPE) \
    static TYPE static_##NAME[N]; \
    static void at_##NAME(TYPE *target) { \
        for (int i = 0; i < N; i++) target[i] = 0; \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) { \
            if (i % 2) shmem_##NAME##_p(&target[i], VALUE(TYPE, me, i), next); \
            else shmem_ctx_##NAME##_p(SHMEM_CTX_DEFAULT, &target[i], VALUE(TYPE, me, i), next); \
        } \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) { \
            CHECK(target[i] == VALUE(TYPE, prev, i)); \
            CHECK(shmem_##NAME##_g(&target[i], next) == VALUE(TYPE, me, i)); \
            CHECK(shmem_ctx_##NAME##_g(SHMEM_CTX_DEFAULT, &target[i], next) == VALUE(TYPE, me, i)); \
            CHECK(shmem_##NAME##_g(&target[i], me) == VALUE(TYPE, prev, i)); \
        } \
        shmem_barrier_all(); \
        /* To itself, and all bits: no value passes through another type. */ \
        TYPE extreme = (TYPE)-1; \
        shmem_##NAME##_p(&target[0], extreme, me); \
        shmem_quiet(); \
        CHECK(shmem_##NAME##_g(&target[0], me) == extreme); \
        CHECK(target[1] == VALUE(TYPE, prev, 1)); \
        shmem_barrier_all(); \
    } \
    static void test_##NAME(void) { \
        at_##NAME(static_##NAME); \
        TYPE *heap = shmem_malloc(N * sizeof(TYPE)); \
        at_##NAME(heap); \
        shmem_free(heap); \
    }
RMA_TYPES(TEST)

static double fraction;
static long double precise;

int main(void) {
    test_begin();
#define CALL(NAME, TYPE) test_##NAME();
    RMA_TYPES(CALL)
    shmem_double_p(&fraction, 0.1 + me, next);
    shmem_longdouble_p(&precise, 0.1L + (long double)me * 1e-18L, next);
    shmem_barrier_all();
    CHECK(fraction == 0.1 + prev);
    CHECK(precise == 0.1L + (long double)prev * 1e-18L);
    CHECK(shmem_longdouble_g(&precise, next) == 0.1L + (long double)me * 1e-18L);
    return test_end("p_g");
}
