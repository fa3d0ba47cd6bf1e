/* Beyond max-active-levels inner regions have one thread but count as levels (OpenMP 5.1, 2.4.5). */
#include "check.h"

int main(void)
{
    omp_set_max_active_levels(1);
    int inner = 0, outer = 0;
#pragma omp parallel num_threads(4) reduction(+ : inner, outer)
    {
        outer++;
        int me = omp_get_thread_num();
#pragma omp parallel num_threads(4) reduction(+ : inner)
        {
            inner++;
            CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
            CHECK(omp_get_level() == 2 && omp_get_active_level() == 1);
            CHECK(omp_in_parallel());
            CHECK(omp_get_ancestor_thread_num(1) == me);
        }
    }
    printf("outer %d inner %d\n", outer, inner);
    return check_end();
}
