/* omp_init_allocator: alignment, pool size, every fallback (OpenMP 5.1, 2.13.2). */
#include <stdint.h>
#include "check.h"

int main(void)
{
    omp_alloctrait_t align[] = {{omp_atk_alignment, 256}};
    omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 1, align);
    CHECK(a != omp_null_allocator);
    for (int i = 1; i < 20; i++) {
        char *p = omp_alloc((size_t)i * 37, a);
        CHECK(p && (uintptr_t)p % 256 == 0);
        memset(p, i, (size_t)i * 37);
        p = omp_realloc(p, 5000, a, a);
        CHECK(p && (uintptr_t)p % 256 == 0 && p[i * 37 - 1] == i);
        omp_free(p, a);
        p = omp_aligned_alloc(1024, 2048, a);
        CHECK((uintptr_t)p % 1024 == 0);
        omp_free(p, omp_null_allocator);
    }
    omp_destroy_allocator(a);
    omp_alloctrait_t bad[] = {{omp_atk_alignment, 3}};
    CHECK(omp_init_allocator(omp_default_mem_space, 1, bad) == omp_null_allocator);

    omp_alloctrait_t pool[] = {{omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    a = omp_init_allocator(omp_default_mem_space, 2, pool);
    void *p = omp_alloc(3000, a);
    CHECK(p != NULL);
    CHECK(omp_alloc(3000, a) == NULL);
    omp_free(p, a);
    p = omp_alloc(3000, a);
    CHECK(p != NULL);
    omp_free(p, a);
    CHECK(omp_alloc(5000, a) == NULL);
    CHECK(omp_calloc(5, 1000, a) == NULL);
    omp_destroy_allocator(a);

    omp_alloctrait_t def[] = {{omp_atk_pool_size, 1024}, {omp_atk_fallback, omp_atv_default_mem_fb}};
    a = omp_init_allocator(omp_default_mem_space, 2, def);
    void *q[4];
    for (int i = 0; i < 4; i++) {
        q[i] = omp_alloc(700, a);
        CHECK(q[i] != NULL);
        memset(q[i], i, 700);
    }
    for (int i = 0; i < 4; i++)
        omp_free(q[i], a);

    omp_alloctrait_t other[] = {{omp_atk_pool_size, 100},
                                {omp_atk_fallback, omp_atv_allocator_fb},
                                {omp_atk_fb_data, (omp_uintptr_t)a},
                                {omp_atk_alignment, 64},
                                {omp_atk_sync_hint, omp_atv_contended},
                                {omp_atk_access, omp_atv_all},
                                {omp_atk_pinned, omp_atv_false},
                                {omp_atk_partition, omp_atv_environment}};
    omp_allocator_handle_t b = omp_init_allocator(omp_default_mem_space, 8, other);
    CHECK(b != omp_null_allocator);
    p = omp_alloc(500, b);
    CHECK(p != NULL);
    omp_free(p, b);
    omp_destroy_allocator(b);
    omp_destroy_allocator(a);
    omp_destroy_allocator(omp_null_allocator);
    return check_end();
}
