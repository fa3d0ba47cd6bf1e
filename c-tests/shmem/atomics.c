/* Atomic memory operations of every type: fetch, set, swap, compare_swap, inc, add, and, or, xor, with and without
 * fetching, with and without a context argument: "Atomic Memory Operations". */
#include "shtest.h"
#include "types.h"

/* Every operation below is also done on a neighbour's word, which must stay as it is. */
#define EXTENDED(NAME, TYPE) \
    static TYPE static_ext_##NAME[3]; \
    static void ext_##NAME(TYPE *word) { \
        word[0] = word[2] = 55; \
        word[1] = VALUE(TYPE, me, 1); \
        shmem_barrier_all(); \
        TYPE *target = &word[1]; \
        CHECK(shmem_##NAME##_atomic_fetch(target, next) == VALUE(TYPE, next, 1)); \
        CHECK(shmem_ctx_##NAME##_atomic_fetch(SHMEM_CTX_DEFAULT, target, next) == VALUE(TYPE, next, 1)); \
        CHECK(shmem_##NAME##_atomic_swap(target, VALUE(TYPE, me, 2), next) == VALUE(TYPE, next, 1)); \
        CHECK(shmem_ctx_##NAME##_atomic_swap(SHMEM_CTX_DEFAULT, target, VALUE(TYPE, me, 3), next) == \
              VALUE(TYPE, me, 2)); \
        shmem_barrier_all(); \
        CHECK(*target == VALUE(TYPE, prev, 3)); \
        shmem_barrier_all(); \
        shmem_##NAME##_atomic_set(target, VALUE(TYPE, me, 4), next); \
        shmem_barrier_all(); \
        CHECK(*target == VALUE(TYPE, prev, 4)); \
        shmem_barrier_all(); \
        shmem_ctx_##NAME##_atomic_set(SHMEM_CTX_DEFAULT, target, VALUE(TYPE, me, 5), next); \
        shmem_barrier_all(); \
        CHECK(*target == VALUE(TYPE, prev, 5)); \
        CHECK(word[0] == 55 && word[2] == 55); \
        shmem_barrier_all(); \
    }
AMO_EXTENDED_TYPES(EXTENDED)

#define STANDARD(NAME, TYPE) \
    static TYPE static_std_##NAME[3]; \
    static void std_##NAME(TYPE *word) { \
        TYPE *target = &word[1]; \
        word[0] = word[2] = 55; \
        *target = 10; \
        shmem_barrier_all(); \
        /* One PE after the other holds the word of `next`: nobody else touches it. */ \
        CHECK(shmem_##NAME##_atomic_compare_swap(target, 9, 20, next) == 10); \
        CHECK(shmem_##NAME##_atomic_compare_swap(target, 10, 20, next) == 10); \
        CHECK(shmem_ctx_##NAME##_atomic_compare_swap(SHMEM_CTX_DEFAULT, target, 20, 30, next) == 20); \
        CHECK(shmem_##NAME##_atomic_fetch_inc(target, next) == 30); \
        CHECK(shmem_ctx_##NAME##_atomic_fetch_inc(SHMEM_CTX_DEFAULT, target, next) == 31); \
        CHECK(shmem_##NAME##_atomic_fetch_add(target, 7, next) == 32); \
        CHECK(shmem_ctx_##NAME##_atomic_fetch_add(SHMEM_CTX_DEFAULT, target, 8, next) == 39); \
        shmem_##NAME##_atomic_inc(target, next); \
        shmem_ctx_##NAME##_atomic_inc(SHMEM_CTX_DEFAULT, target, next); \
        shmem_##NAME##_atomic_add(target, 5, next); \
        shmem_ctx_##NAME##_atomic_add(SHMEM_CTX_DEFAULT, target, 6, next); \
        shmem_barrier_all(); \
        CHECK(*target == 60); \
        CHECK(word[0] == 55 && word[2] == 55); \
        shmem_barrier_all(); \
        /* Adding all ones is subtracting one, and comparing looks at all of the bits. */ \
        CHECK(shmem_##NAME##_atomic_fetch_add(target, (TYPE)-1, next) == 60); \
        CHECK(shmem_##NAME##_atomic_fetch_add(target, (TYPE)-60, next) == 59); \
        CHECK(shmem_##NAME##_atomic_fetch(target, next) == (TYPE)-1); \
        CHECK(shmem_##NAME##_atomic_compare_swap(target, (TYPE)-1, (TYPE)-2, next) == (TYPE)-1); \
        shmem_barrier_all(); \
        CHECK(*target == (TYPE)-2); \
        CHECK(word[0] == 55 && word[2] == 55); \
        shmem_barrier_all(); \
        /* On one's own word, too. */ \
        CHECK(shmem_##NAME##_atomic_fetch_add(target, 3, me) == (TYPE)-2); \
        CHECK(*target == 1); \
        shmem_barrier_all(); \
    }
AMO_TYPES(STANDARD)

#define BITWISE(NAME, TYPE) \
    static TYPE static_bit_##NAME[3]; \
    static void bit_##NAME(TYPE *word) { \
        TYPE *target = &word[1]; \
        word[0] = word[2] = 55; \
        *target = 0x0f; \
        shmem_barrier_all(); \
        CHECK(shmem_##NAME##_atomic_fetch_or(target, 0x30, next) == 0x0f); \
        CHECK(shmem_ctx_##NAME##_atomic_fetch_or(SHMEM_CTX_DEFAULT, target, 0xc0, next) == 0x3f); \
        CHECK(shmem_##NAME##_atomic_fetch_and(target, 0x7e, next) == 0xff); \
        CHECK(shmem_ctx_##NAME##_atomic_fetch_and(SHMEM_CTX_DEFAULT, target, 0x3f, next) == 0x7e); \
        CHECK(shmem_##NAME##_atomic_fetch_xor(target, 0x11, next) == 0x3e); \
        CHECK(shmem_ctx_##NAME##_atomic_fetch_xor(SHMEM_CTX_DEFAULT, target, 0x01, next) == 0x2f); \
        shmem_##NAME##_atomic_or(target, 0x100, next); \
        shmem_ctx_##NAME##_atomic_or(SHMEM_CTX_DEFAULT, target, 0x200, next); \
        shmem_fence(); \
        shmem_##NAME##_atomic_and(target, (TYPE)~0x2, next); \
        shmem_ctx_##NAME##_atomic_and(SHMEM_CTX_DEFAULT, target, (TYPE)~0x4, next); \
        shmem_fence(); \
        shmem_##NAME##_atomic_xor(target, 0x1000, next); \
        shmem_ctx_##NAME##_atomic_xor(SHMEM_CTX_DEFAULT, target, (TYPE)-1, next); \
        shmem_barrier_all(); \
        CHECK(*target == (TYPE)~(TYPE)0x1328); \
        CHECK(word[0] == 55 && word[2] == 55); \
        shmem_barrier_all(); \
    }
AMO_BITWISE_TYPES(BITWISE)

int main(void) {
    test_begin();
#define CALL_EXT(NAME, TYPE) \
    ext_##NAME(static_ext_##NAME); \
    { TYPE *heap = shmem_malloc(3 * sizeof(TYPE)); ext_##NAME(heap); shmem_free(heap); }
#define CALL_STD(NAME, TYPE) \
    std_##NAME(static_std_##NAME); \
    { TYPE *heap = shmem_malloc(3 * sizeof(TYPE)); std_##NAME(heap); shmem_free(heap); }
#define CALL_BIT(NAME, TYPE) \
    bit_##NAME(static_bit_##NAME); \
    { TYPE *heap = shmem_malloc(3 * sizeof(TYPE)); bit_##NAME(heap); shmem_free(heap); }
    AMO_EXTENDED_TYPES(CALL_EXT)
    AMO_TYPES(CALL_STD)
    AMO_BITWISE_TYPES(CALL_BIT)
    return test_end("atomics");
}
