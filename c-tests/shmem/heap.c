/* The symmetric heap: "Memory Management". Every call is made by all PEs with the same arguments.
 * shmem-test: env=SHMEM_SYMMETRIC_SIZE=64M */
#include "shtest.h"
#include <stdint.h>

#define SIZE_OF_HEAP ((size_t)64 << 20)

/* A block must be where the neighbour has it, too: what is put there must arrive here. */
static void symmetric(unsigned char *block, size_t size) {
    unsigned char first = (unsigned char)(me + 3), last = (unsigned char)(me + 90);
    shmem_uchar_put(block, &first, 1, next);
    shmem_uchar_put(block + size - 1, &last, size > 1, next);
    shmem_barrier_all();
    CHECK(block[0] == (unsigned char)(prev + 3));
    CHECK(size == 1 || block[size - 1] == (unsigned char)(prev + 90));
    shmem_barrier_all();
}

static void shapes(void) {
    CHECK(shmem_malloc(0) == NULL);
    shmem_free(NULL);
    for (size_t size = 1; size <= (size_t)4 << 20; size = size * 5 + 1) {
        unsigned char *block = shmem_malloc(size);
        CHECKF(block != NULL, "%zu", size);
        CHECK(((uintptr_t)block & (_Alignof(max_align_t) - 1)) == 0);
        memset(block, 0xee, size);
        shmem_barrier_all();
        symmetric(block, size);
        shmem_free(block);
        /* What was used before is zero after calloc. */
        unsigned char *zero = shmem_calloc(size, 1);
        CHECK(zero != NULL);
        size_t other = 0;
        for (size_t i = 0; i < size; i++) {
            other += zero[i] != 0;
        }
        CHECKF(other == 0, "%zu of %zu", other, size);
        shmem_free(zero);
    }
    CHECK(shmem_calloc(0, 8) == NULL);
    CHECK(shmem_calloc(8, 0) == NULL);
    CHECK(shmem_calloc(SIZE_MAX / 2, 4) == NULL);
    CHECK(shmem_align(64, 0) == NULL);
    CHECK(shmem_align(0, 64) == NULL && shmem_align(3, 64) == NULL && shmem_align(24, 64) == NULL);
    /* Below the size of a pointer: other implementations take these. */
    for (size_t alignment = 1; alignment <= (size_t)1 << 16; alignment *= 2) {
        unsigned char *odd = shmem_malloc(24);
        unsigned char *block = shmem_align(alignment, 100);
        CHECKF(block != NULL && ((uintptr_t)block & (alignment - 1)) == 0, "%zu %p", alignment, (void *)block);
        shmem_barrier_all();
        symmetric(block, 100);
        shmem_free(block);
        shmem_free(odd);
    }
}

static void resized(void) {
    unsigned char *block = shmem_realloc(NULL, 100);
    CHECK(block != NULL);
    for (int i = 0; i < 100; i++) {
        block[i] = (unsigned char)(me * 3 + i);
    }
    size_t kept = 100, now = 100;
    static const size_t sizes[] = {200, 5000, 300000, 4096, 64, 2000000, 10};
    for (int s = 0; s < 7; s++) {
        /* Something behind it, so that growing has to move now and then. */
        void *behind = shmem_malloc(s % 2 ? 64 : 5000);
        block = shmem_realloc(block, sizes[s]);
        CHECK(block != NULL);
        now = sizes[s];
        kept = kept < now ? kept : now;
        size_t wrong = 0;
        for (size_t i = 0; i < kept; i++) {
            wrong += block[i] != (unsigned char)(me * 3 + (int)i);
        }
        CHECKF(wrong == 0, "%zu of %zu at %zu", wrong, kept, now);
        /* The other PEs may still be looking at theirs. */
        unsigned char held = block[0];
        shmem_barrier_all();
        symmetric(block, now);
        block[0] = held;
        kept = kept < now ? kept : now - 1;
        shmem_free(behind);
    }
    /* Too large: a null pointer, and the old block as it was. */
    block[0] = 77;
    CHECK(shmem_realloc(block, (size_t)1 << 40) == NULL);
    CHECK(block[0] == 77);
    CHECK(shmem_realloc(block, 0) == NULL);
}

static void hints(void) {
    static const long all[] = {0, SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE,
                               SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE};
    for (int h = 0; h < 4; h++) {
        uint64_t *block = shmem_malloc_with_hints(8 * sizeof(uint64_t), all[h]);
        CHECK(block != NULL);
        memset(block, 0, 8 * sizeof *block);
        shmem_barrier_all();
        shmem_uint64_atomic_add(&block[3], 5, next);
        shmem_uint64_atomic_add(&block[3], 6, 0);
        shmem_barrier_all();
        CHECK(block[3] == 5 + (uint64_t)(me == 0 ? 6 * npes : 0));
        shmem_free(block);
    }
    CHECK(shmem_malloc_with_hints(0, 0) == NULL);
}

static void exhausted(void) {
    CHECK(shmem_malloc((size_t)1 << 46) == NULL);
    CHECK(shmem_malloc(SIZE_MAX) == NULL);
    CHECK(shmem_align(4096, SIZE_MAX - 10) == NULL);
    enum { MOST = 4096 };
    static void *blocks[MOST];
    int n = 0;
    while (n < MOST && (blocks[n] = shmem_malloc((size_t)1 << 20)) != NULL) {
        *(int *)blocks[n] = n;
        n++;
    }
    /* It is 64 MiB as asked for, not more by much and not less by much. */
    CHECKF(n >= 60 && n <= 80, "%d", n);
    for (int i = 0; i < n; i++) {
        CHECK(*(int *)blocks[i] == i);
    }
    for (int i = 0; i < n; i += 2) {
        shmem_free(blocks[i]);
    }
    CHECK(shmem_malloc((size_t)8 << 20) == NULL);
    for (int i = 1; i < n; i += 2) {
        shmem_free(blocks[i]);
    }
    /* Freed blocks grow together again. */
    unsigned char *large = shmem_malloc(SIZE_OF_HEAP - ((size_t)4 << 20));
    CHECK(large != NULL);
    symmetric(large, SIZE_OF_HEAP - ((size_t)4 << 20));
    shmem_free(large);
}

static void churn(void) {
    enum { SLOTS = 64 };
    unsigned char *block[SLOTS] = {0};
    size_t size[SLOTS] = {0};
    unsigned state = 7;
    for (int step = 0; step < rounds(600); step++) {
        unsigned slot = test_random(&state) % SLOTS;
        size_t wanted = 1 + test_random(&state) % (step % 16 ? 3000 : 400000);
        if (block[slot]) {
            size_t wrong = 0;
            for (size_t i = 0; i < size[slot]; i++) {
                wrong += block[slot][i] != (unsigned char)(slot + i);
            }
            CHECKF(wrong == 0, "step %d: %zu", step, wrong);
        }
        if (block[slot] && step % 3 == 0) {
            shmem_free(block[slot]);
            block[slot] = NULL;
            continue;
        }
        block[slot] = block[slot] ? shmem_realloc(block[slot], wanted) : shmem_malloc(wanted);
        CHECK(block[slot] != NULL);
        size[slot] = wanted;
        for (size_t i = 0; i < wanted; i++) {
            block[slot][i] = (unsigned char)(slot + i);
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        shmem_free(block[i]);
    }
    unsigned char *large = shmem_malloc(SIZE_OF_HEAP - ((size_t)4 << 20));
    CHECK(large != NULL);
    shmem_free(large);
}

int main(void) {
    test_begin();
    shapes();
    resized();
    hints();
    exhausted();
    churn();
    return test_end("heap");
}
