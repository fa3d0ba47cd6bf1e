/* Several loops in one region, with the barriers between them, single, copyprivate, sections and master.
   hetmp-test: way=fibers */
#include "loop_check.h"

enum { N = 600, STEPS = 25 };
static double a[N], b[N];

int main(void)
{
    double norm = 0;
    int singles = 0, masters = 0, sections = 0, criticals = 0;
    for (int i = 0; i < N; i++)
        a[i] = i % 17;
#pragma omp parallel
    {
        for (int step = 0; step < STEPS; step++) {
            double shift = 0;
#pragma omp single copyprivate(shift)
            {
                singles++;
                shift = step;
            }
#pragma omp for
            for (int i = 0; i < N; i++)
                b[i] = a[(i + 1) % N] + shift;
#pragma omp for nowait
            for (int i = 0; i < N; i++)
                a[i] = b[i] * 0.5;
            /* The same thread has the same iterations: no barrier is needed. */
#pragma omp for
            for (int i = 0; i < N; i++)
                a[i] += 1;
#pragma omp master
            masters++;
#pragma omp sections
            {
#pragma omp section
#pragma omp atomic
                sections++;
#pragma omp section
#pragma omp atomic
                sections++;
            }
#pragma omp for reduction(+ : norm)
            for (int i = 0; i < N; i++)
                norm += (long)a[i] % 3;
#pragma omp single
            criticals++;
        }
    }
    printf("%.1f %d %d %d %d\n", norm, singles, masters, sections, criticals);
    return check_end();
}
