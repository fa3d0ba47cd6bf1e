/* Nonblocking put and get for every type and size: "Nonblocking Remote Memory Access Routines". A source stays as it
 * is, and a destination is not looked at, until shmem_quiet.
 * shmem-test: peer=yes */
#include "shtest.h"
#include "types.h"

enum { N = 19 };

#define TEST(NAME, TYPE, PUT, GET, CTX_PUT, CTX_GET) \
    static TYPE static_##NAME[N * 2]; \
    static void at_##NAME(TYPE *target) { \
        TYPE source[N * 2], found[N * 2]; \
        memset(target, 0, N * 2 * sizeof(TYPE)); \
        memset(source, 0, sizeof source); \
        memset(found, 0xcc, sizeof found); \
        for (int i = 0; i < N * 2; i++) ((unsigned char *)&source[i])[0] = (unsigned char)(me * 11 + i + 1); \
        shmem_barrier_all(); \
        PUT(target, source, N, next); \
        CTX_PUT(SHMEM_CTX_DEFAULT, target + N, source + N, N, next); \
        PUT(target, source, 0, next); \
        shmem_barrier_all(); \
        for (int i = 0; i < N * 2; i++) CHECK(((unsigned char *)&target[i])[0] == (unsigned char)(prev * 11 + i + 1)); \
        GET(found, target, N, next); \
        CTX_GET(SHMEM_CTX_DEFAULT, found + N, target + N, N, next); \
        shmem_quiet(); \
        CHECK(memcmp(found, source, sizeof found) == 0); \
        shmem_barrier_all(); \
    } \
    static void test_##NAME(void) { \
        TYPE *heap = shmem_malloc(N * 2 * sizeof(TYPE)); \
        at_##NAME(static_##NAME); \
        at_##NAME(heap); \
        shmem_free(heap); \
    }
#define TYPED(NAME, TYPE) \
    TEST(NAME, TYPE, shmem_##NAME##_put_nbi, shmem_##NAME##_get_nbi, shmem_ctx_##NAME##_put_nbi, \
         shmem_ctx_##NAME##_get_nbi)
#define SIZED(BITS, TYPE) \
    TEST(bits_##BITS, TYPE, shmem_put##BITS##_nbi, shmem_get##BITS##_nbi, shmem_ctx_put##BITS##_nbi, \
         shmem_ctx_get##BITS##_nbi)
RMA_TYPES(TYPED)
SIZES(SIZED)
TEST(mem, unsigned char, shmem_putmem_nbi, shmem_getmem_nbi, shmem_ctx_putmem_nbi, shmem_ctx_getmem_nbi)

/* More outstanding at once than any queue holds, small ones and large ones mixed. */
static void many(void) {
    enum { COUNT = 20000, BIG = 4 << 20 };
    int *target = shmem_calloc(COUNT, sizeof(int));
    char *big = shmem_malloc(BIG), *origin = malloc(BIG);
    int *source = malloc(COUNT * sizeof(int)), *found = calloc(COUNT, sizeof(int));
    memset(origin, 'a' + me, BIG);
    memset(big, 0, BIG);
    for (int i = 0; i < COUNT; i++) {
        source[i] = me * COUNT + i;
    }
    shmem_barrier_all();
    for (int i = 0; i < COUNT; i++) {
        shmem_int_put_nbi(&target[i], &source[i], 1, next);
        if (i == COUNT / 2) {
            shmem_putmem_nbi(big, origin, BIG, next);
        }
    }
    shmem_quiet();
    shmem_barrier_all();
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        wrong += target[i] != prev * COUNT + i;
    }
    CHECKF(wrong == 0, "%d", wrong);
    CHECK(big[0] == 'a' + prev && big[BIG / 2] == 'a' + prev && big[BIG - 1] == 'a' + prev);
    shmem_barrier_all();
    for (int i = 0; i < COUNT; i++) {
        shmem_int_get_nbi(&found[i], &target[i], 1, next);
        if (i == COUNT / 3) {
            shmem_getmem_nbi(origin, big, BIG, next);
        }
    }
    shmem_quiet();
    wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        wrong += found[i] != me * COUNT + i;
    }
    CHECKF(wrong == 0, "%d", wrong);
    CHECK(origin[0] == 'a' + me && origin[BIG - 1] == 'a' + me);
    shmem_barrier_all();
    free(source);
    free(found);
    free(origin);
    shmem_free(target);
    shmem_free(big);
}

int main(void) {
    test_begin();
#define CALL(NAME, TYPE) test_##NAME();
    RMA_TYPES(CALL)
#undef CALL
#define CALL(BITS, TYPE) test_bits_##BITS();
    SIZES(CALL)
    test_mem();
    many();
    return test_end("nbi");
}
