/* Nestable locks: the owner sets again, test returns the new depth (OpenMP 5.1, 3.9). */
#include "check.h"

int main(void)
{
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    for (int i = 1; i <= 5; i++)
        printf("%d ", omp_test_nest_lock(&lock));
    puts("");
    for (int i = 0; i < 4; i++)
        omp_unset_nest_lock(&lock);
    long count = 0;
    omp_unset_nest_lock(&lock);
#pragma omp parallel num_threads(6)
    for (int i = 0; i < 500; i++) {
        omp_set_nest_lock(&lock);
        omp_set_nest_lock(&lock);
        CHECK(omp_test_nest_lock(&lock) == 3);
        count++;
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        count++;
        omp_unset_nest_lock(&lock);
    }
    printf("%ld\n", count);
    int zero = 0;
    omp_set_nest_lock(&lock);
#pragma omp parallel num_threads(4) reduction(+ : zero)
    if (omp_get_thread_num() != 0)
        zero += omp_test_nest_lock(&lock) == 0;
    printf("%d refused\n", zero);
    omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
    return check_end();
}
