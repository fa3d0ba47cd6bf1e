/* firstprivate of a variable-length array: copied by the compiler's copy function (OpenMP 5.1, 2.21.4.4). */
#include "check.h"

int main(void)
{
    long sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int n = 1; n < 200; n++) {
        int v[n];
        for (int i = 0; i < n; i++)
            v[i] = n * i;
#pragma omp task firstprivate(v, n) shared(sum)
        for (int i = 0; i < n; i++) {
            CHECK(v[i] == n * i);
#pragma omp atomic
            sum += v[i];
        }
    }
    printf("%ld\n", sum);
    return check_end();
}
