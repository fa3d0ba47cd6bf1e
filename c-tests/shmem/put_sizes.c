/* shmem_put8 to shmem_put128, shmem_putmem and their gets: lengths 0 to 8 MiB, every alignment, to this PE itself,
 * between all pairs, and from symmetric memory to symmetric memory.
 * shmem-test: peer=yes */
#include "shtest.h"
#include "types.h"

enum { N = 25 };

static void fill(void *at, size_t bytes, int seed) {
    unsigned state = (unsigned)seed * 77u + 5u;
    unsigned char *byte = at;
    for (size_t i = 0; i < bytes; i++) {
        if (i % 1024 < 16) state = state * 1664525u + 1013904223u;
        byte[i] = (unsigned char)((state >> 16) + i);
    }
}

static size_t differences(const void *at, size_t bytes, int seed) {
    unsigned state = (unsigned)seed * 77u + 5u;
    const unsigned char *byte = at;
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (i % 1024 < 16) state = state * 1664525u + 1013904223u;
        wrong += byte[i] != (unsigned char)((state >> 16) + i);
    }
    return wrong;
}

#define TEST(BITS, TYPE) \
    static void test_##BITS(void) { \
        TYPE source[N], found[N]; \
        TYPE *target = shmem_malloc((N + 2) * sizeof(TYPE)); \
        for (int with_context = 0; with_context < 2; with_context++) { \
            memset(target, 0x55, (N + 2) * sizeof(TYPE)); \
            fill(source, sizeof source, me + with_context); \
            shmem_barrier_all(); \
            if (with_context) shmem_ctx_put##BITS(SHMEM_CTX_DEFAULT, target + 1, source, N, next); \
            else shmem_put##BITS(target + 1, source, N, next); \
            shmem_barrier_all(); \
            CHECK(differences(target + 1, sizeof source, prev + with_context) == 0); \
            const unsigned char *bytes = (const unsigned char *)target; \
            CHECK(bytes[0] == 0x55 && bytes[sizeof(TYPE) - 1] == 0x55 && bytes[(N + 1) * sizeof(TYPE)] == 0x55); \
            memset(found, 0, sizeof found); \
            if (with_context) shmem_ctx_get##BITS(SHMEM_CTX_DEFAULT, found, target + 1, N, next); \
            else shmem_get##BITS(found, target + 1, N, next); \
            CHECK(differences(found, sizeof found, me + with_context) == 0); \
            shmem_barrier_all(); \
            /* Nothing, and nothing is touched. */ \
            shmem_put##BITS(target, source, 0, next); \
            shmem_get##BITS(found, target, 0, next); \
            shmem_barrier_all(); \
            CHECK(bytes[0] == 0x55); \
            shmem_barrier_all(); \
        } \
        shmem_free(target); \
    }
SIZES(TEST)

enum { LARGE = 8 << 20 };

static void lengths(void) {
    unsigned char *target = shmem_malloc(LARGE + 64), *origin = shmem_malloc(LARGE + 64);
    unsigned char *local = malloc(LARGE + 64), *found = malloc(LARGE + 64);
    static const size_t all[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 1000, 4095, 4096,
                                 4097, 65536, 100001, 1 << 20, LARGE};
    for (size_t l = 0; l < sizeof all / sizeof *all; l++) {
        size_t length = all[l];
        size_t most = length < 300 ? 17 : length < 10000 ? 3 : 1;
        for (size_t skew = 0; skew < most; skew++) {
            unsigned char *to = target + 16 + skew, *from = local + (skew * 7) % 16;
            to[-1] = to[length] = 0xa5;
            fill(from, length, me + (int)skew);
            shmem_barrier_all();
            shmem_putmem(to, from, length, next);
            shmem_barrier_all();
            CHECKF(differences(to, length, prev + (int)skew) == 0, "%zu at %zu", length, skew);
            CHECK(to[-1] == 0xa5 && to[length] == 0xa5);
            unsigned char *back = found + 1 + (skew * 3) % 16;
            back[-1] = back[length] = 0x5a;
            shmem_ctx_getmem(SHMEM_CTX_DEFAULT, back, to, length, next);
            CHECKF(differences(back, length, me + (int)skew) == 0, "%zu at %zu", length, skew);
            CHECK(back[-1] == 0x5a && back[length] == 0x5a);
            shmem_barrier_all();
        }
    }
    /* From symmetric memory into symmetric memory, here and there. */
    fill(origin, 100000, 50 + me);
    shmem_barrier_all();
    shmem_ctx_putmem(SHMEM_CTX_DEFAULT, target, origin, 100000, next);
    shmem_barrier_all();
    CHECK(differences(target, 100000, 50 + prev) == 0);
    shmem_barrier_all();
    shmem_getmem(target, origin, 100000, next);
    CHECK(differences(target, 100000, 50 + next) == 0);
    shmem_barrier_all();
    /* To itself. */
    shmem_putmem(target, origin, 100000, me);
    shmem_quiet();
    CHECK(differences(target, 100000, 50 + me) == 0);
    memset(found, 0, 100000);
    shmem_getmem(found, origin, 100000, me);
    CHECK(differences(found, 100000, 50 + me) == 0);
    shmem_barrier_all();
    /* Everybody to everybody, each in a part of its own. */
    for (int pe = 0; pe < npes; pe++) {
        shmem_putmem(target + 1000 * me, origin, 1000, pe);
    }
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++) {
        CHECK(differences(target + 1000 * pe, 1000, 50 + pe) == 0);
    }
    shmem_putmem(target, NULL, 0, next);
    shmem_getmem(NULL, target, 0, next);
    free(local);
    free(found);
    shmem_barrier_all();
    shmem_free(target);
    shmem_free(origin);
}

int main(void) {
    test_begin();
#define CALL(BITS, TYPE) test_##BITS();
    SIZES(CALL)
    lengths();
    return test_end("put_sizes");
}
