/* All reduction operators on several types (OpenMP 5.1, 2.21.5). */
#include <complex.h>
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 9; n += 4) {
        int add = 100, sub = 5, mul = 3, mn = 1000, mx = -1000;
        unsigned band = ~0u, bor = 0, bxor = 0x55;
        int land = 1, lor = 0;
        double d = 0.5;
        double complex z = 1;
        unsigned char small = 7;
        unsigned long long big = 1;
#pragma omp parallel num_threads(n) reduction(+ : add, d, z, small, big) reduction(- : sub) reduction(* : mul) \
    reduction(min : mn) reduction(max : mx) reduction(& : band) reduction(| : bor) reduction(^ : bxor)         \
    reduction(&& : land) reduction(|| : lor)
        {
            int t = omp_get_thread_num();
            add += t;
            sub += 1;
            mul *= 2;
            if (t - 4 < mn)
                mn = t - 4;
            if (t * t > mx)
                mx = t * t;
            band &= ~(1u << t);
            bor |= 1u << t;
            bxor ^= 3u << t;
            land = land && t < 8;
            lor = lor || t == 8;
            d += t * 0.25;
            z += t * I;
            small += 200;
            big += 1ull << (t + 40);
        }
        printf("%d: %d %d %d %d %d %x %x %x %d %d %.2f %.1f%+.1fi %d %llu\n", n, add, sub, mul, mn, mx, band, bor,
               bxor, land, lor, d, creal(z), cimag(z), small, big);
    }
    return check_end();
}
