/* Predefined allocators and omp_alloc, calloc, realloc, aligned forms (OpenMP 5.1, 3.13). */
#include <stdint.h>
#include "check.h"

int main(void)
{
    omp_allocator_handle_t all[] = {omp_default_mem_alloc, omp_large_cap_mem_alloc, omp_const_mem_alloc,
                                    omp_high_bw_mem_alloc, omp_low_lat_mem_alloc, omp_cgroup_mem_alloc,
                                    omp_pteam_mem_alloc, omp_thread_mem_alloc, omp_null_allocator};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++) {
        char *p = omp_alloc(1000, all[k]);
        CHECK(p && (uintptr_t)p % 16 == 0);
        memset(p, 7, 1000);
        p = omp_realloc(p, 50000, all[k], all[k]);
        CHECK(p && p[999] == 7);
        p = omp_realloc(p, 10, all[k], all[k]);
        CHECK(p && p[9] == 7);
        omp_free(p, all[k]);
        int *z = omp_calloc(100, sizeof(int), all[k]);
        for (int i = 0; i < 100; i++)
            CHECK(z[i] == 0);
        omp_free(z, omp_null_allocator);
        for (size_t align = 8; align <= 4096; align *= 4) {
            void *a = omp_aligned_alloc(align, align * 3, all[k]);
            CHECK(a && (uintptr_t)a % align == 0);
            memset(a, 1, align * 3);
            omp_free(a, all[k]);
            char *c = omp_aligned_calloc(align, 3, align, all[k]);
            CHECK(c && (uintptr_t)c % align == 0 && c[3 * align - 1] == 0);
            omp_free(c, all[k]);
        }
    }
    CHECK(omp_alloc(0, omp_default_mem_alloc) == NULL);
    CHECK(omp_calloc(0, 5, omp_default_mem_alloc) == NULL);
    volatile size_t huge = SIZE_MAX / 2;
    CHECK(omp_calloc(huge, 5, omp_default_mem_alloc) == NULL);
    CHECK(omp_realloc(NULL, 10, omp_default_mem_alloc, omp_null_allocator) != NULL);
    omp_free(NULL, omp_default_mem_alloc);
    CHECK(omp_get_default_allocator() == omp_default_mem_alloc);
    omp_set_default_allocator(omp_cgroup_mem_alloc);
    CHECK(omp_get_default_allocator() == omp_cgroup_mem_alloc);
    int same = 0;
#pragma omp parallel num_threads(3) reduction(+ : same)
    {
        same += omp_get_default_allocator() == omp_cgroup_mem_alloc;
        void *p = omp_alloc(64, omp_null_allocator);
        CHECK(p);
        omp_free(p, omp_null_allocator);
    }
    printf("%d\n", same);
    return check_end();
}
