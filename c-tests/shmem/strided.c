/* shmem_iput and shmem_iget for every type and size: strides of both sides, no elements, no neighbour touched.
 * shmem-test: peer=yes */
#include "shtest.h"
#include "types.h"

enum { N = 9, DST = 3, SST = 2 };

/* A long double's last bytes are padding, which no copy has to keep. */
#define SAME(a, b) (memcmp(&(a), &(b), _Generic((a), long double: sizeof(long double) == 16 ? 10 : sizeof(a), \
                                                default: sizeof(a))) == 0)

#define TEST(NAME, TYPE, IPUT, IGET, CTX_IPUT, CTX_IGET) \
    static TYPE static_##NAME[N * DST]; \
    static TYPE number_##NAME(int pe, int i) { \
        TYPE value; \
        memset(&value, 0, sizeof value); \
        unsigned char *byte = (unsigned char *)&value; \
        byte[0] = (unsigned char)(pe * 11 + i + 1); \
        return value; \
    } \
    static void at_##NAME(TYPE *target, int with_context) { \
        TYPE source[N * SST], found[N * SST]; \
        TYPE empty; \
        memset(&empty, 0, sizeof empty); \
        memset(target, 0, N * DST * sizeof(TYPE)); \
        memset(found, 0, sizeof found); \
        for (int i = 0; i < N * SST; i++) source[i] = number_##NAME(me, i); \
        shmem_barrier_all(); \
        if (with_context) CTX_IPUT(SHMEM_CTX_DEFAULT, target, source, DST, SST, N, next); \
        else IPUT(target, source, DST, SST, N, next); \
        shmem_barrier_all(); \
        for (int i = 0; i < N * DST; i++) { \
            TYPE expected = i % DST ? empty : number_##NAME(prev, i / DST * SST); \
            CHECK(SAME(target[i], expected)); \
        } \
        if (with_context) CTX_IGET(SHMEM_CTX_DEFAULT, found, target, SST, DST, N, next); \
        else IGET(found, target, SST, DST, N, next); \
        for (int i = 0; i < N * SST; i++) { \
            TYPE expected = i % SST ? empty : number_##NAME(me, i); \
            CHECK(SAME(found[i], expected)); \
        } \
        shmem_barrier_all(); \
        IPUT(target + 1, source, 1, 1, 0, next); \
        IPUT(target, source, 1, 1, N, next); \
        shmem_barrier_all(); \
        for (int i = 0; i < N; i++) { \
            TYPE expected = number_##NAME(prev, i); \
            CHECK(SAME(target[i], expected)); \
        } \
        shmem_barrier_all(); \
    } \
    static void test_##NAME(void) { \
        TYPE *heap = shmem_malloc(N * DST * sizeof(TYPE)); \
        at_##NAME(static_##NAME, 0); \
        at_##NAME(heap, 1); \
        shmem_free(heap); \
    }
#define TYPED(NAME, TYPE) \
    TEST(NAME, TYPE, shmem_##NAME##_iput, shmem_##NAME##_iget, shmem_ctx_##NAME##_iput, shmem_ctx_##NAME##_iget)
#define SIZED(BITS, TYPE) \
    TEST(bits_##BITS, TYPE, shmem_iput##BITS, shmem_iget##BITS, shmem_ctx_iput##BITS, shmem_ctx_iget##BITS)
RMA_TYPES(TYPED)
SIZES(SIZED)

int main(void) {
    test_begin();
#define CALL(NAME, TYPE) test_##NAME();
    RMA_TYPES(CALL)
#undef CALL
#define CALL(BITS, TYPE) test_bits_##BITS();
    SIZES(CALL)
    return test_end("strided");
}
