/* Simple locks: init, set, unset, destroy; exclusion (OpenMP 5.1, 3.9). */
#include "check.h"

int main(void)
{
    omp_lock_t lock;
    for (int round = 0; round < 10; round++) {
        long count = 0;
        omp_init_lock(&lock);
#pragma omp parallel num_threads(6)
        for (int i = 0; i < 1000; i++) {
            omp_set_lock(&lock);
            count++;
            omp_unset_lock(&lock);
        }
        omp_destroy_lock(&lock);
        CHECK(count == 6000);
    }
    return check_end();
}
