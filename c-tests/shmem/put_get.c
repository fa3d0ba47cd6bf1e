/* shmem_put and shmem_get for every type, from heap and static memory, with and without a context argument.
 * shmem-test: peer=yes */
#include "shtest.h"
#include "types.h"

enum { N = 37 };

#define TEST(NAME, TYPE) \
    static TYPE static_##NAME[N + 2]; \
    static void at_##NAME(TYPE *target, int with_context) { \
        TYPE source[N], found[N]; \
        for (int i = 0; i < N + 2; i++) target[i] = 99; \
        for (int i = 0; i < N; i++) source[i] = VALUE(TYPE, me, i); \
        shmem_barrier_all(); \
        if (with_context) shmem_ctx_##NAME##_put(SHMEM_CTX_DEFAULT, target + 1, source, N, next); \
        else shmem_##NAME##_put(target + 1, source, N, next); \
        /* The source is free at once. */ \
        for (int i = 0; i < N; i++) source[i] = 0; \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) CHECK(target[i + 1] == VALUE(TYPE, prev, i)); \
        CHECK(target[0] == 99 && target[N + 1] == 99); \
        if (with_context) shmem_ctx_##NAME##_get(SHMEM_CTX_DEFAULT, found, target + 1, N, next); \
        else shmem_##NAME##_get(found, target + 1, N, next); \
        for (int i = 0; i < N; i++) CHECK(found[i] == VALUE(TYPE, me, i)); \
        shmem_barrier_all(); \
    } \
    static void test_##NAME(void) { \
        TYPE *heap = shmem_malloc((N + 2) * sizeof(TYPE)); \
        for (int with_context = 0; with_context < 2; with_context++) { \
            at_##NAME(static_##NAME, with_context); \
            at_##NAME(heap, with_context); \
        } \
        shmem_free(heap); \
    }
RMA_TYPES(TEST)

int main(void) {
    test_begin();
#define CALL(NAME, TYPE) test_##NAME();
    RMA_TYPES(CALL)
    return test_end("put_get");
}
