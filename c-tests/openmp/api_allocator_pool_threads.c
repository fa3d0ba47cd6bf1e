/* A pool shared by threads never hands out more than its size, and all comes back (OpenMP 5.1, 2.13.2). */
#include "check.h"

int main(void)
{
    omp_alloctrait_t pool[] = {{omp_atk_pool_size, 65536}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t a = omp_init_allocator(omp_default_mem_space, 2, pool);
    long held = 0;
#pragma omp parallel num_threads(6)
    for (int i = 0; i < 2000; i++) {
        void *p = omp_alloc(10000, a);
        if (p) {
            CHECK(__atomic_add_fetch(&held, 10000, __ATOMIC_ACQ_REL) <= 65536);
            memset(p, 1, 10000);
            __atomic_sub_fetch(&held, 10000, __ATOMIC_ACQ_REL);
            omp_free(p, a);
        }
    }
    void *p = omp_alloc(60000, a);
    CHECK(p != NULL);
    omp_free(p, a);
    omp_destroy_allocator(a);
    return check_end();
}
