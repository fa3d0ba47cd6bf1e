/* Nonblocking fetching atomics of every type: what is fetched is there after shmem_quiet. */
#include "shtest.h"
#include "types.h"

#define EXTENDED(NAME, TYPE) \
    static TYPE ext_##NAME; \
    static void test_ext_##NAME(void) { \
        TYPE got[4] = {0, 0, 0, 0}; \
        ext_##NAME = VALUE(TYPE, me, 1); \
        shmem_barrier_all(); \
        shmem_##NAME##_atomic_fetch_nbi(&got[0], &ext_##NAME, next); \
        shmem_ctx_##NAME##_atomic_fetch_nbi(SHMEM_CTX_DEFAULT, &got[1], &ext_##NAME, next); \
        shmem_quiet(); \
        CHECK(got[0] == VALUE(TYPE, next, 1) && got[1] == VALUE(TYPE, next, 1)); \
        shmem_##NAME##_atomic_swap_nbi(&got[2], &ext_##NAME, VALUE(TYPE, me, 2), next); \
        shmem_quiet(); \
        shmem_ctx_##NAME##_atomic_swap_nbi(SHMEM_CTX_DEFAULT, &got[3], &ext_##NAME, VALUE(TYPE, me, 3), next); \
        shmem_quiet(); \
        CHECK(got[2] == VALUE(TYPE, next, 1) && got[3] == VALUE(TYPE, me, 2)); \
        shmem_barrier_all(); \
        CHECK(ext_##NAME == VALUE(TYPE, prev, 3)); \
        shmem_barrier_all(); \
    }
AMO_EXTENDED_TYPES(EXTENDED)

#define STANDARD(NAME, TYPE) \
    static TYPE std_##NAME; \
    static void test_std_##NAME(void) { \
        TYPE got[6] = {0, 0, 0, 0, 0, 0}; \
        std_##NAME = 10; \
        shmem_barrier_all(); \
        shmem_##NAME##_atomic_compare_swap_nbi(&got[0], &std_##NAME, 9, 70, next); \
        shmem_quiet(); \
        shmem_ctx_##NAME##_atomic_compare_swap_nbi(SHMEM_CTX_DEFAULT, &got[1], &std_##NAME, 10, 20, next); \
        shmem_quiet(); \
        shmem_##NAME##_atomic_fetch_inc_nbi(&got[2], &std_##NAME, next); \
        shmem_quiet(); \
        shmem_ctx_##NAME##_atomic_fetch_inc_nbi(SHMEM_CTX_DEFAULT, &got[3], &std_##NAME, next); \
        shmem_quiet(); \
        shmem_##NAME##_atomic_fetch_add_nbi(&got[4], &std_##NAME, 5, next); \
        shmem_quiet(); \
        shmem_ctx_##NAME##_atomic_fetch_add_nbi(SHMEM_CTX_DEFAULT, &got[5], &std_##NAME, 6, next); \
        shmem_quiet(); \
        CHECK(got[0] == 10 && got[1] == 10 && got[2] == 20 && got[3] == 21 && got[4] == 22 && got[5] == 27); \
        shmem_barrier_all(); \
        CHECK(std_##NAME == 33); \
        shmem_barrier_all(); \
    }
AMO_TYPES(STANDARD)

#define BITWISE(NAME, TYPE) \
    static TYPE bit_##NAME; \
    static void test_bit_##NAME(void) { \
        TYPE got[6] = {0, 0, 0, 0, 0, 0}; \
        bit_##NAME = 0x0f; \
        shmem_barrier_all(); \
        shmem_##NAME##_atomic_fetch_or_nbi(&got[0], &bit_##NAME, 0x30, next); \
        shmem_quiet(); \
        shmem_ctx_##NAME##_atomic_fetch_or_nbi(SHMEM_CTX_DEFAULT, &got[1], &bit_##NAME, 0xc0, next); \
        shmem_quiet(); \
        shmem_##NAME##_atomic_fetch_and_nbi(&got[2], &bit_##NAME, 0x7e, next); \
        shmem_quiet(); \
        shmem_ctx_##NAME##_atomic_fetch_and_nbi(SHMEM_CTX_DEFAULT, &got[3], &bit_##NAME, 0x3f, next); \
        shmem_quiet(); \
        shmem_##NAME##_atomic_fetch_xor_nbi(&got[4], &bit_##NAME, 0x11, next); \
        shmem_quiet(); \
        shmem_ctx_##NAME##_atomic_fetch_xor_nbi(SHMEM_CTX_DEFAULT, &got[5], &bit_##NAME, 0x01, next); \
        shmem_quiet(); \
        CHECK(got[0] == 0x0f && got[1] == 0x3f && got[2] == 0xff && got[3] == 0x7e && got[4] == 0x3e && \
              got[5] == 0x2f); \
        shmem_barrier_all(); \
        CHECK(bit_##NAME == 0x2e); \
        shmem_barrier_all(); \
    }
AMO_BITWISE_TYPES(BITWISE)

/* Many at once: each gets a ticket of its own. */
static void tickets(void) {
    enum { EACH = 500 };
    long *counter = shmem_calloc(1, sizeof(long));
    char *taken = shmem_calloc((size_t)EACH * (size_t)npes, 1);
    static long got[EACH];
    memset(got, 0xff, sizeof got);
    for (int i = 0; i < EACH; i++) {
        shmem_long_atomic_fetch_add_nbi(&got[i], counter, 1, 0);
    }
    shmem_quiet();
    for (int i = 0; i < EACH; i++) {
        CHECK(got[i] >= 0 && got[i] < (long)EACH * npes);
        shmem_char_p(&taken[got[i]], 1, 0);
    }
    shmem_barrier_all();
    if (me == 0) {
        CHECK(*counter == (long)EACH * npes);
        for (int i = 0; i < EACH * npes; i++) {
            CHECK(taken[i] == 1);
        }
    }
    shmem_barrier_all();
    shmem_free(taken);
    shmem_free(counter);
}

int main(void) {
    test_begin();
#define CALL_EXT(NAME, TYPE) test_ext_##NAME();
#define CALL_STD(NAME, TYPE) test_std_##NAME();
#define CALL_BIT(NAME, TYPE) test_bit_##NAME();
    AMO_EXTENDED_TYPES(CALL_EXT)
    AMO_TYPES(CALL_STD)
    AMO_BITWISE_TYPES(CALL_BIT)
    tickets();
    return test_end("atomics_nbi");
}
