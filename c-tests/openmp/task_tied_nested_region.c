/* A lock held by a task across a nested region and its barriers: tasks of the outer team must not run there (OpenMP
   5.1, 2.12.6). hetmp-test: timeout=40 */
#include "check.h"

int main(void)
{
    omp_set_max_active_levels(2);
    for (int n = 1; n <= 4; n++) {
        omp_lock_t lock;
        omp_init_lock(&lock);
        int count = 0, inner = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int i = 0; i < 30; i++) {
#pragma omp task shared(lock, count, inner)
            {
                omp_set_lock(&lock);
                count++;
#pragma omp parallel num_threads(2) shared(inner)
                {
#pragma omp task shared(inner)
#pragma omp atomic
                    inner++;
#pragma omp barrier
#pragma omp atomic
                    inner++;
                }
                omp_unset_lock(&lock);
            }
        }
        omp_destroy_lock(&lock);
        printf("%d %d\n", count, inner);
    }
    return check_end();
}
