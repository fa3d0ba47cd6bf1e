/* OMP_ALLOCATOR names the default allocator (OpenMP 5.1, 6.22).
   hetmp-test: env=OMP_ALLOCATOR=omp_high_bw_mem_alloc */
#include "check.h"

int main(void)
{
    printf("%d\n", omp_get_default_allocator() == omp_high_bw_mem_alloc);
    void *p = omp_alloc(100, omp_null_allocator);
    CHECK(p);
    omp_free(p, omp_null_allocator);
    return check_end();
}
