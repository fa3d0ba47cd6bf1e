/* proc_bind clauses are accepted and do not change what the region computes (OpenMP 5.1, 2.6.2). */
#include "check.h"

int main(void)
{
    int total = 0;
    for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(4) proc_bind(close) reduction(+ : total)
        total += omp_get_thread_num() + 1;
#pragma omp parallel num_threads(3) proc_bind(spread) reduction(+ : total)
        total += omp_get_thread_num() + 1;
#pragma omp parallel num_threads(2) proc_bind(master) reduction(+ : total)
        total += omp_get_thread_num() + 1;
#pragma omp parallel num_threads(5) proc_bind(primary) reduction(+ : total)
        total += omp_get_thread_num() + 1;
    }
    printf("%d\n", total);
    return check_end();
}
