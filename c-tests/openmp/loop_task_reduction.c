/* reduction(task, ...) on loops, sections and parallel: tasks inside take part (OpenMP 5.1, 2.21.5). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n += 2) {
        long a = 0, b = 1000, c = 0;
        unsigned long long u = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp for reduction(task, + : a) schedule(dynamic, 3)
            for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : a)
                a += i;
                a += 1;
            }
#pragma omp for reduction(task, + : u) schedule(guided)
            for (unsigned long long i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : u)
                u += i;
            }
#pragma omp for reduction(task, + : b) schedule(static)
            for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : b)
                b += i;
            }
#pragma omp sections reduction(task, + : c)
            {
#pragma omp section
                {
#pragma omp task in_reduction(+ : c)
                    c += 5;
                }
#pragma omp section
                {
#pragma omp task in_reduction(+ : c)
                    c += 6;
                    c += 1;
                }
            }
        }
        long p = 0;
#pragma omp parallel reduction(task, + : p) num_threads(n)
        {
            p += 10;
#pragma omp task in_reduction(+ : p)
            p += 1;
        }
        CHECK(p == 11 * n);
        printf("%ld %llu %ld %ld\n", a, u, b, c);
    }
    return check_end();
}
