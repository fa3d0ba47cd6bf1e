/* An array of locks, each guarding its own counter (OpenMP 5.1, 3.9). */
#include "check.h"

int main(void)
{
    omp_lock_t many[64];
    long counts[64] = {0};
    for (int i = 0; i < 64; i++)
        omp_init_lock(&many[i]);
#pragma omp parallel num_threads(5)
    for (int i = 0; i < 6400; i++) {
        omp_set_lock(&many[i % 64]);
        counts[i % 64]++;
        omp_unset_lock(&many[i % 64]);
    }
    long sum = 0;
    for (int i = 0; i < 64; i++) {
        CHECK(counts[i] == 500);
        sum += counts[i];
        omp_destroy_lock(&many[i]);
    }
    printf("%ld\n", sum);
    return check_end();
}
