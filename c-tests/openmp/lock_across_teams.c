/* One lock shared by nested teams, taken in one region and released in a later one (OpenMP 5.1, 3.9). */
#include "check.h"

int main(void)
{
    omp_lock_t lock;
    long count = 0;
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 500; i++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
    }
    omp_set_lock(&lock);
    int free_now = 0;
#pragma omp parallel num_threads(3) reduction(+ : free_now)
    free_now += omp_test_lock(&lock);
    omp_unset_lock(&lock);
    printf("%ld %d\n", count, free_now);
    omp_destroy_lock(&lock);
    return check_end();
}
