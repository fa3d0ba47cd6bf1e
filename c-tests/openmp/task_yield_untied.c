/* taskyield in tied and untied tasks, nested deep, loses nothing (OpenMP 5.1, 2.12.4). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int a = 0, b = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int i = 0; i < 300; i++) {
#pragma omp task shared(a)
            {
                int me = omp_get_thread_num();
#pragma omp taskyield
                CHECK(omp_get_thread_num() == me);
#pragma omp atomic
                a++;
            }
#pragma omp task untied shared(b)
            {
#pragma omp taskyield
#pragma omp atomic
                b++;
#pragma omp taskyield
            }
#pragma omp taskyield
        }
        printf("%d %d\n", a, b);
    }
    return check_end();
}
