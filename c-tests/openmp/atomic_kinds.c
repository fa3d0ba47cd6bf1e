/* atomic read, write, update, capture and compare with memory orders (OpenMP 5.1, 2.19.7). */
#include "check.h"

int main(void)
{
    int add = 0, sub = 0, top = -1, seen[4000] = {0};
    unsigned x = 0, band = ~0u, bor = 0;
    double d = 0;
    short s = 0;
    long long swap = -1;
#pragma omp parallel num_threads(4)
    {
#pragma omp for
        for (int i = 0; i < 4000; i++) {
            int old;
#pragma omp atomic capture seq_cst
            old = add++;
#pragma omp atomic update acq_rel
            seen[old]++;
#pragma omp atomic
            sub -= 2;
#pragma omp atomic relaxed
            x ^= (unsigned)i;
#pragma omp atomic
            band &= ~(1u << (i % 20));
#pragma omp atomic
            bor |= 1u << (i % 20);
#pragma omp atomic
            d += 0.5;
#pragma omp atomic
            s++;
#pragma omp atomic compare
            if (top < i) { top = i; }
            long long v;
#pragma omp atomic write release
            swap = i;
#pragma omp atomic read acquire
            v = swap;
            CHECK(v >= 0 && v < 4000);
        }
    }
    for (int i = 0; i < 4000; i++)
        CHECK(seen[i] == 1);
    printf("%d %d %u %x %x %.1f %d %d\n", add, sub, x, band, bor, d, s, top);
    return check_end();
}
