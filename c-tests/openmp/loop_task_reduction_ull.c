/* Task reductions on loops whose bounds need unsigned long long, also with doacross (OpenMP 5.1, 2.21.5). */
#include "check.h"

int main(void)
{
    volatile unsigned long long hidden = ~0ull - 400;
    unsigned long long base = hidden;
    for (int n = 1; n <= 6; n++) {
        long a = 0, b = 0, c = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp for reduction(task, + : a) schedule(dynamic, 3)
            for (unsigned long long i = base; i < base + 100; i++) {
#pragma omp task in_reduction(+ : a)
                a += (long)(i - base);
            }
#pragma omp for reduction(task, + : b) schedule(guided)
            for (unsigned long long i = base + 100; i > base; i--) {
#pragma omp task in_reduction(+ : b)
                b += (long)(i - base);
            }
#pragma omp for reduction(task, + : c) schedule(runtime)
            for (unsigned long long i = base; i < base + 100; i++) {
#pragma omp task in_reduction(+ : c)
                c += 1;
                c += 2;
            }
        }
        printf("%ld %ld %ld\n", a, b, c);
    }
    return check_end();
}
