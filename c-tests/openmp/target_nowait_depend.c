/* target nowait tasks, ordered by depend with host tasks (OpenMP 5.1, 2.14.5). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int x = 0, y = 0, order = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 1; i <= 40; i++) {
#pragma omp target nowait map(tofrom : x) depend(inout : x)
                x = x * 3 % 1009 + 1;
#pragma omp task depend(inout : x) shared(x)
                x = x * 5 % 1009;
#pragma omp target enter data map(to : y) nowait depend(inout : y)
#pragma omp target update to(y) nowait depend(inout : y)
#pragma omp target map(tofrom : y) nowait depend(inout : y)
                y++;
#pragma omp target exit data map(from : y) nowait depend(inout : y)
            }
#pragma omp taskwait
            order = x;
        }
        CHECK(y == 40);
        printf("%d %d\n", order, y);
    }
    int z = 0;
#pragma omp target nowait map(tofrom : z)
    z = 5;
#pragma omp taskwait
    printf("%d\n", z);
    return check_end();
}
