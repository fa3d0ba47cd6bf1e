/* omp_realloc and the accounting of pools: data is kept, alignment holds, a pool counts what its
   blocks really use, and gives it back (OpenMP 5.1, sections 2.13.3 and 3.13.13).
   hetmp-test: threads=2 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int intact(const unsigned char *p, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++)
        if (p[i] != (unsigned char) (i * 7))
            return 0;
    return 1;
}

static void fill(unsigned char *p, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++)
        p[i] = (unsigned char) (i * 7);
}

/* The largest single block, and how many blocks of `size` fit. */
static void measure(const char *what, omp_allocator_handle_t a, size_t size)
{
    size_t largest = 0, n;
    int count = 0;
    void *blocks[64];
    for (n = 1; n < 5000; n++) {
        void *p = omp_alloc(n, a);
        if (p == NULL)
            break;
        largest = n;
        omp_free(p, a);
    }
    while (count < 64 && (blocks[count] = omp_alloc(size, a)) != NULL)
        count++;
    printf("%s: largest %lu, of %lu bytes %d\n", what, (unsigned long) largest,
           (unsigned long) size, count);
    while (count > 0)
        omp_free(blocks[--count], omp_null_allocator);
}

int main(void)
{
    omp_alloctrait_t pool[] = {{omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_alloctrait_t aligned[] = {{omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb},
                                  {omp_atk_alignment, 256}};
    omp_alloctrait_t free_aligned[] = {{omp_atk_alignment, 512}};
    omp_allocator_handle_t p = omp_init_allocator(omp_default_mem_space, 2, pool);
    omp_allocator_handle_t q = omp_init_allocator(omp_large_cap_mem_space, 3, aligned);
    omp_allocator_handle_t r = omp_init_allocator(omp_low_lat_mem_space, 1, free_aligned);
    volatile size_t huge = SIZE_MAX - 8;
    unsigned char *x, *y;
    int i;

    measure("pool", p, 100);
    measure("pool of aligned blocks", q, 100);

    x = omp_alloc(1000, p);
    fill(x, 1000);
    x = omp_realloc(x, 2000, p, p);
    printf("grown in the pool: %d\n", x != NULL && intact(x, 1000));
    measure("rest", p, 100);
    y = omp_realloc(x, 5000, p, p);
    printf("beyond the pool: %d, old block there: %d\n", y == NULL, intact(x, 1000));
    x = omp_realloc(x, 500, p, p);
    printf("shrunk: %d\n", intact(x, 500));
    measure("rest", p, 100);
    x = omp_realloc(x, 600, q, p);
    printf("to the other pool: %d %d\n", intact(x, 500), (int) ((uintptr_t) x % 256));
    measure("pool", p, 100);
    measure("other pool", q, 100);
    x = omp_realloc(x, 100000, r, q);
    printf("to no pool: %d %d\n", intact(x, 500), (int) ((uintptr_t) x % 512));
    measure("other pool", q, 100);
    x = omp_realloc(x, 700, omp_null_allocator, omp_null_allocator);
    printf("same allocator: %d %d\n", intact(x, 500), (int) ((uintptr_t) x % 512));
    x = omp_realloc(x, 800, omp_default_mem_alloc, r);
    printf("to the default: %d\n", intact(x, 500));
    printf("to nothing: %d\n", omp_realloc(x, 0, omp_default_mem_alloc, omp_null_allocator) == NULL);
    x = omp_realloc(NULL, 10, q, q);
    printf("from nothing: %d %d\n", x != NULL, (int) ((uintptr_t) x % 256));
    omp_free(x, q);

    for (i = 0; i < 13; i++) {
        size_t align = (size_t) 1 << i;
        x = omp_aligned_alloc(align, 33, p);
        y = omp_aligned_calloc(align, 3, 11, q);
        printf("align %lu: ", (unsigned long) align);
        if (x == NULL)
            printf("no block, ");
        else
            printf("%d, ", (int) ((uintptr_t) x % align));
        if (y == NULL)
            puts("no block");
        else
            printf("%d, zero %d\n", (int) ((uintptr_t) y % align),
                   y[0] == 0 && memcmp(y, y + 1, 32) == 0);
        omp_free(x, p);
        omp_free(y, q);
    }
    printf("overflow: %d %d %d\n", omp_calloc(huge / 2, 3, p) == NULL, omp_alloc(huge, q) == NULL,
           omp_alloc(huge, omp_default_mem_alloc) == NULL);
    printf("nothing: %d %d\n", omp_alloc(0, p) == NULL, omp_calloc(5, 0, p) == NULL);
    measure("pool at the end", p, 100);
    measure("other pool at the end", q, 100);
    omp_destroy_allocator(p);
    omp_destroy_allocator(q);
    omp_destroy_allocator(r);
    return 0;
}
