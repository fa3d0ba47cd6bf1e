/* Atomics too large for the hardware use the runtime's lock: long double and __int128 (OpenMP 5.1, 2.19.7). */
#include "check.h"

int main(void)
{
    long double ld = 0, prod = 1;
    __int128 wide = 0;
#pragma omp parallel num_threads(6)
    for (int i = 0; i < 1000; i++) {
#pragma omp atomic
        ld += 0.25L;
#pragma omp atomic
        wide += (__int128)1 << 70;
        if (i < 4) {
#pragma omp atomic
            prod *= 2;
        }
        long double seen;
#pragma omp atomic read
        seen = ld;
        CHECK(seen > 0 && seen <= 1500);
    }
    printf("%.2Lf %.0Lf %ld\n", ld, prod, (long)(wide >> 70));
    return check_end();
}
