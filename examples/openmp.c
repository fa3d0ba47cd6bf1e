/* Pi by the midpoint rule, in a loop without a schedule clause: hetmp gives a slower core fewer iterations.
 *
 *   gcc -O2 -fopenmp openmp.c -o openmp
 *   hetmp run --report ./openmp
 */
#include <stdio.h>

int main(void)
{
    const long steps = 10000000;
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < steps; i++) {
        double x = (i + 0.5) / steps;
        sum += 4 / (1 + x * x);
    }
    printf("pi is %.6f\n", sum / steps);
}
