/* allocate clauses on parallel, loops and single with predefined allocators (OpenMP 5.1, 2.13.4). */
#include <stdint.h>
#include "loop_check.h"

int main(void)
{
    long total = 0;
    for (int n = 1; n <= 5; n++) {
        int x = 3, y = 9;
        long sum = 0;
#pragma omp parallel num_threads(n) allocate(omp_default_mem_alloc : x) firstprivate(x)
        {
            CHECK(x == 3);
            x = omp_get_thread_num();
#pragma omp barrier
            CHECK(x == omp_get_thread_num());
#pragma omp for schedule(dynamic) allocate(omp_low_lat_mem_alloc : y) firstprivate(y) reduction(+ : sum) \
    allocate(omp_high_bw_mem_alloc : sum)
            for (int i = 0; i < 100; i++) {
                CHECK(y == 9);
                sum += i;
            }
#pragma omp for schedule(static) allocate(y) lastprivate(y)
            for (int i = 0; i < 10; i++)
                y = i;
        }
        CHECK(y == 9);
        total += sum;
    }
    printf("%ld\n", total);
    return check_end();
}
