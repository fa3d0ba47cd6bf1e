/* Tasks outside of any region run in the implicit region of one thread (OpenMP 5.1, 2.12.1). */
#include "check.h"

int main(void)
{
    int a = 0, b = 0, c = 0;
#pragma omp task shared(a)
    a = 1;
#pragma omp taskwait
    CHECK(a == 1);
#pragma omp taskgroup
    {
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(b) depend(inout : b)
            b++;
        }
    }
    CHECK(b == 100);
#pragma omp taskloop shared(c) grainsize(3)
    for (int i = 0; i < 50; i++) {
#pragma omp atomic
        c += i;
    }
#pragma omp taskyield
    printf("%d %d %d\n", a, b, c);
    return check_end();
}
