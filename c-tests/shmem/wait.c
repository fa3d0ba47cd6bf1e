/* Waiting and testing for every type: one, all, any and some, with one value and with a value for each, with and
 * without a status array, with every comparison: "Point-To-Point Synchronization Routines".
 * Words of one array are set without a fence between them, and none announces another. */
#include "shtest.h"
#include "types.h"

enum { N = 6 };

#define SIMPLE(NAME, TYPE) \
    static TYPE one_##NAME; \
    static void test_simple_##NAME(void) { \
        TYPE *ivar = &one_##NAME; \
        *ivar = 10; \
        CHECK(shmem_##NAME##_test(ivar, SHMEM_CMP_EQ, 10) && !shmem_##NAME##_test(ivar, SHMEM_CMP_EQ, 11)); \
        CHECK(shmem_##NAME##_test(ivar, SHMEM_CMP_NE, 11) && !shmem_##NAME##_test(ivar, SHMEM_CMP_NE, 10)); \
        CHECK(shmem_##NAME##_test(ivar, SHMEM_CMP_GT, 9) && !shmem_##NAME##_test(ivar, SHMEM_CMP_GT, 10)); \
        CHECK(shmem_##NAME##_test(ivar, SHMEM_CMP_GE, 10) && !shmem_##NAME##_test(ivar, SHMEM_CMP_GE, 11)); \
        CHECK(shmem_##NAME##_test(ivar, SHMEM_CMP_LT, 11) && !shmem_##NAME##_test(ivar, SHMEM_CMP_LT, 10)); \
        CHECK(shmem_##NAME##_test(ivar, SHMEM_CMP_LE, 10) && !shmem_##NAME##_test(ivar, SHMEM_CMP_LE, 9)); \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_EQ, 10); \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_NE, 9); \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_GT, 9); \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_GE, 10); \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_LT, 11); \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_LE, 10); \
        /* Comparisons are of this type: all ones is -1 or the largest value. */ \
        *ivar = (TYPE)-1; \
        int is_signed = (TYPE)-1 < (TYPE)1; \
        CHECK(!!shmem_##NAME##_test(ivar, SHMEM_CMP_LT, 0) == is_signed); \
        CHECK(!!shmem_##NAME##_test(ivar, SHMEM_CMP_GT, 0) == !is_signed); \
        shmem_barrier_all(); \
        *ivar = 0; \
        shmem_barrier_all(); \
        shmem_##NAME##_p(ivar, (TYPE)(prev + 5), next); \
        shmem_##NAME##_wait_until(ivar, SHMEM_CMP_NE, 0); \
        CHECK(*ivar == (TYPE)((me + npes - 2 + (npes == 1)) % npes + 5)); \
        shmem_barrier_all(); \
    }
AMO_TYPES(SIMPLE)
SYNC_DEPRECATED_TYPES(SIMPLE)

#define MANY(NAME, TYPE) \
    static TYPE several_##NAME[N]; \
    static void set_##NAME(int place, TYPE value) { shmem_##NAME##_atomic_set(&several_##NAME[place], value, next); } \
    static void test_several_##NAME(void) { \
        TYPE *ivars = several_##NAME; \
        int status[N] = {0, 1, 0, 0, 1, 0}, all_out[N] = {1, 1, 1, 1, 1, 1}; \
        size_t indices[N]; \
        TYPE values[N] = {3, 9, 5, 6, 9, 8}; \
        for (int i = 0; i < N; i++) ivars[i] = 0; \
        shmem_barrier_all(); \
        /* Nothing yet, and nothing to wait for. */ \
        CHECK(shmem_##NAME##_test_all(ivars, N, NULL, SHMEM_CMP_EQ, 0) != 0); \
        CHECK(shmem_##NAME##_test_all(ivars, N, status, SHMEM_CMP_EQ, 1) == 0); \
        CHECK(shmem_##NAME##_test_any(ivars, N, status, SHMEM_CMP_EQ, 1) == SIZE_MAX); \
        CHECK(shmem_##NAME##_test_some(ivars, N, indices, status, SHMEM_CMP_EQ, 1) == 0); \
        CHECK(shmem_##NAME##_test_all_vector(ivars, N, status, SHMEM_CMP_EQ, values) == 0); \
        CHECK(shmem_##NAME##_test_any_vector(ivars, N, status, SHMEM_CMP_EQ, values) == SIZE_MAX); \
        CHECK(shmem_##NAME##_test_some_vector(ivars, N, indices, status, SHMEM_CMP_EQ, values) == 0); \
        for (int empty = 0; empty < 2; empty++) { \
            size_t n = empty ? 0 : N; \
            shmem_##NAME##_wait_until_all(ivars, n, all_out, SHMEM_CMP_EQ, 1); \
            shmem_##NAME##_wait_until_all_vector(ivars, n, all_out, SHMEM_CMP_EQ, values); \
            CHECK(shmem_##NAME##_wait_until_any(ivars, n, all_out, SHMEM_CMP_EQ, 1) == SIZE_MAX); \
            CHECK(shmem_##NAME##_wait_until_any_vector(ivars, n, all_out, SHMEM_CMP_EQ, values) == SIZE_MAX); \
            CHECK(shmem_##NAME##_wait_until_some(ivars, n, indices, all_out, SHMEM_CMP_EQ, 1) == 0); \
            CHECK(shmem_##NAME##_wait_until_some_vector(ivars, n, indices, all_out, SHMEM_CMP_EQ, values) == 0); \
            CHECK(shmem_##NAME##_test_all(ivars, n, all_out, SHMEM_CMP_EQ, 1) != 0); \
            CHECK(shmem_##NAME##_test_all_vector(ivars, n, all_out, SHMEM_CMP_EQ, values) != 0); \
            CHECK(shmem_##NAME##_test_any(ivars, n, all_out, SHMEM_CMP_EQ, 1) == SIZE_MAX); \
            CHECK(shmem_##NAME##_test_any_vector(ivars, n, all_out, SHMEM_CMP_EQ, values) == SIZE_MAX); \
            CHECK(shmem_##NAME##_test_some(ivars, n, indices, all_out, SHMEM_CMP_EQ, 1) == 0); \
            CHECK(shmem_##NAME##_test_some_vector(ivars, n, indices, all_out, SHMEM_CMP_EQ, values) == 0); \
        } \
        shmem_barrier_all(); \
        /* One of them, which is not the first. */ \
        set_##NAME(3, 1); \
        CHECK(shmem_##NAME##_wait_until_any(ivars, N, status, SHMEM_CMP_EQ, 1) == 3); \
        CHECK(shmem_##NAME##_wait_until_some(ivars, N, indices, status, SHMEM_CMP_EQ, 1) == 1 && indices[0] == 3); \
        CHECK(shmem_##NAME##_test_any(ivars, N, NULL, SHMEM_CMP_GT, 0) == 3); \
        CHECK(shmem_##NAME##_test_some(ivars, N, indices, NULL, SHMEM_CMP_NE, 0) == 1 && indices[0] == 3); \
        CHECK(shmem_##NAME##_test_all(ivars, N, status, SHMEM_CMP_EQ, 1) == 0); \
        shmem_barrier_all(); \
        /* All but the two that the status array leaves out. */ \
        set_##NAME(0, 1); \
        set_##NAME(2, 1); \
        set_##NAME(5, 1); \
        shmem_##NAME##_wait_until_all(ivars, N, status, SHMEM_CMP_EQ, 1); \
        CHECK(shmem_##NAME##_test_all(ivars, N, status, SHMEM_CMP_EQ, 1) != 0); \
        CHECK(shmem_##NAME##_test_all(ivars, N, NULL, SHMEM_CMP_EQ, 1) == 0); \
        size_t found = shmem_##NAME##_test_some(ivars, N, indices, status, SHMEM_CMP_EQ, 1); \
        CHECK(found == 4); \
        unsigned which = 0; \
        for (size_t i = 0; i < found && i < N; i++) which |= 1u << indices[i]; \
        CHECKF(which == 0x2d, "%x", which); \
        CHECK(ivars[1] == 0 && ivars[4] == 0); \
        shmem_barrier_all(); \
        /* A value for each. */ \
        set_##NAME(5, 8); \
        CHECK(shmem_##NAME##_wait_until_any_vector(ivars, N, status, SHMEM_CMP_EQ, values) == 5); \
        CHECK(shmem_##NAME##_wait_until_some_vector(ivars, N, indices, status, SHMEM_CMP_EQ, values) == 1 && \
              indices[0] == 5); \
        CHECK(shmem_##NAME##_test_any_vector(ivars, N, NULL, SHMEM_CMP_EQ, values) == 5); \
        CHECK(shmem_##NAME##_test_some_vector(ivars, N, indices, NULL, SHMEM_CMP_GE, values) == 1); \
        CHECK(shmem_##NAME##_test_all_vector(ivars, N, status, SHMEM_CMP_EQ, values) == 0); \
        CHECK(shmem_##NAME##_test_all_vector(ivars, N, NULL, SHMEM_CMP_LE, values) != 0); \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) set_##NAME(i, values[i]); \
        shmem_##NAME##_wait_until_all_vector(ivars, N, NULL, SHMEM_CMP_EQ, values); \
        CHECK(shmem_##NAME##_test_all_vector(ivars, N, NULL, SHMEM_CMP_EQ, values) != 0); \
        CHECK(shmem_##NAME##_test_some_vector(ivars, N, indices, status, SHMEM_CMP_EQ, values) == 4); \
        CHECK(shmem_##NAME##_wait_until_some_vector(ivars, N, indices, NULL, SHMEM_CMP_EQ, values) == N); \
        shmem_barrier_all(); \
    }
AMO_TYPES(MANY)

/* Repeated tests with a growing status array find every element once. */
static void each_once(void) {
    enum { MANY_MORE = 100 };
    static int words[MANY_MORE];
    int status[MANY_MORE] = {0}, seen[MANY_MORE] = {0};
    shmem_barrier_all();
    for (int i = 0; i < MANY_MORE; i++) {
        shmem_int_atomic_inc(&words[(i * 37 + me) % MANY_MORE], next);
    }
    for (int i = 0; i < MANY_MORE; i++) {
        size_t index = i % 2 ? shmem_int_wait_until_any(words, MANY_MORE, status, SHMEM_CMP_GT, 0) : SIZE_MAX;
        while (index == SIZE_MAX) {
            index = shmem_int_test_any(words, MANY_MORE, status, SHMEM_CMP_GT, 0);
        }
        CHECK(index < MANY_MORE && !seen[index]);
        seen[index % MANY_MORE] = status[index % MANY_MORE] = 1;
    }
    CHECK(shmem_int_wait_until_any(words, MANY_MORE, status, SHMEM_CMP_GT, 0) == SIZE_MAX);
    shmem_barrier_all();
}

int main(void) {
    test_begin();
#define CALL(NAME, TYPE) test_simple_##NAME();
    AMO_TYPES(CALL)
    SYNC_DEPRECATED_TYPES(CALL)
#undef CALL
#define CALL(NAME, TYPE) test_several_##NAME();
    AMO_TYPES(CALL)
    each_once();
    return test_end("wait");
}
