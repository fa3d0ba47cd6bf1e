/* GOMP_atomic_start and _end exclude, also against each other from several teams (gcc's ABI). */
#include "check.h"

void GOMP_atomic_start(void);
void GOMP_atomic_end(void);

int main(void)
{
    long count = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 1000; i++) {
        GOMP_atomic_start();
        count++;
        GOMP_atomic_end();
    }
    printf("%ld\n", count);
    return check_end();
}
