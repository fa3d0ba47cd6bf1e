/* The malloc family in memory that nodes share: every form, contents and alignments seen by all threads, blocks that
   change hands between nodes; anonymous mappings; a nested function's trampoline on an executable stack. */
#define _GNU_SOURCE
#include <malloc.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 4, BLOCKS = 9, ROUNDS = 20 };

static unsigned char *blocks[THREADS][BLOCKS];
static const size_t aligned_to[BLOCKS] = {16, 16, 16, 64, 256, 4096, 16, 16, 4096};

static unsigned char *make(int kind, size_t size)
{
    void *at = NULL;
    switch (kind) {
    case 0:
        return malloc(size);
    case 1:
        return calloc(size / 8 + 1, 8);
    case 2:
        return realloc(malloc(size / 2), size);
    case 3:
        return aligned_alloc(64, (size + 63) / 64 * 64);
    case 4:
        return posix_memalign(&at, 256, size) ? NULL : at;
    case 5:
        return memalign(4096, size);
    case 6:
        at = malloc(size);
        return at && malloc_usable_size(at) >= size ? at : NULL;
    case 7:
        return realloc(NULL, size);
    default:
        return valloc(size);
    }
}

static int apply(int (*f)(int), int x)
{
    return f(x);
}

int main(void)
{
    omp_set_num_threads(THREADS);
    long bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = 24u << (round % 12);
        /* Each thread makes blocks, another one looks at them and grows or frees them. */
#pragma omp parallel reduction(+ : bad)
        {
            int t = omp_get_thread_num();
            for (int k = 0; k < BLOCKS - 1; k++) {
                blocks[t][k] = make(k, size);
                bad += !blocks[t][k] || (uintptr_t)blocks[t][k] % aligned_to[k];
                if (k == 1)
                    for (size_t i = 0; i < size; i++)
                        bad += blocks[t][k][i] != 0;
                memset(blocks[t][k], 16 * t + k, size);
            }
#pragma omp barrier
            int other = (t + 1 + round % (THREADS - 1)) % THREADS;
            for (int k = 0; k < BLOCKS - 1; k++) {
                unsigned char *b = blocks[other][k];
                bad += b[0] != 16 * other + k || b[size - 1] != 16 * other + k;
                if (k % 2) {
                    b = realloc(b, 3 * size);
                    bad += b[size - 1] != 16 * other + k;
                }
                free(b);
            }
        }
    }
    blocks[0][8] = make(8, 10000);
    printf("bad %ld valloc %d\n", bad, (int)((uintptr_t)blocks[0][8] % 4096));

    size_t len = 1 << 20;
    unsigned char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long sum = 0;
#pragma omp parallel for
    for (size_t i = 0; i < len; i++)
        map[i] = (unsigned char)(i * 7);
#pragma omp parallel for reduction(+ : sum)
    for (size_t i = 0; i < len; i++)
        sum += map[len - 1 - i];
    map = mremap(map, len, 2 * len, MREMAP_MAYMOVE);
    printf("map %ld, moved %d %d, %d\n", sum, map[5], map[len - 1], map[2 * len - 1]);
    munmap(map, 2 * len);

    int base = 40;
    int add(int x)
    {
        return base + x;
    }
    int results[THREADS];
#pragma omp parallel
    results[omp_get_thread_num()] = apply(add, omp_get_thread_num());
    for (int t = 0; t < THREADS; t++)
        printf("%d ", results[t]);
    printf("nested\n");
    return 0;
}
