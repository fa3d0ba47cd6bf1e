/* critical with every synchronisation hint still excludes (OpenMP 5.1, 2.19.12). */
#include "check.h"

int main(void)
{
    int a = 0, b = 0, c = 0, d = 0;
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 1000; i++) {
#pragma omp critical(one) hint(omp_sync_hint_uncontended)
        a++;
#pragma omp critical(two) hint(omp_sync_hint_contended | omp_sync_hint_speculative)
        b++;
#pragma omp critical(three) hint(omp_sync_hint_nonspeculative)
        c++;
#pragma omp critical(four) hint(omp_sync_hint_none)
        d++;
    }
    printf("%d %d %d %d\n", a, b, c, d);
    return check_end();
}
