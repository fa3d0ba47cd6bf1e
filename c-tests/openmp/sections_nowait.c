/* sections nowait: many in a row, empty and single ones among them (OpenMP 5.1, 2.10.1). */
#include "check.h"

int main(void)
{
    int a = 0, b = 0, c = 0;
#pragma omp parallel num_threads(5)
    for (int round = 0; round < 300; round++) {
#pragma omp sections nowait
        {
#pragma omp section
#pragma omp atomic
            a++;
#pragma omp section
#pragma omp atomic
            b++;
        }
#pragma omp sections nowait
        {
#pragma omp section
#pragma omp atomic
            c++;
        }
    }
    printf("%d %d %d\n", a, b, c);
    return check_end();
}
