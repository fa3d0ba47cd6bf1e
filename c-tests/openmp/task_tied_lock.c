/* A lock held across taskwait and taskgroup: descendants only may run meanwhile (OpenMP 5.1, 2.12.6).
   hetmp-test: timeout=40 */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        omp_lock_t lock;
        omp_init_lock(&lock);
        int count = 0, kids = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int i = 0; i < 60; i++) {
#pragma omp task shared(lock, count, kids)
            {
                omp_set_lock(&lock);
                count++;
                for (int k = 0; k < 3; k++) {
#pragma omp task shared(kids)
                    {
#pragma omp task shared(kids)
#pragma omp atomic
                        kids++;
#pragma omp taskwait
                    }
                }
#pragma omp taskwait
                omp_unset_lock(&lock);
            }
        }
        omp_destroy_lock(&lock);
        printf("%d %d\n", count, kids);
    }
    return check_end();
}
