/* Waiting for dependences (taskwait depend, if(0) depend) inside critical runs no stranger (OpenMP 5.1, 2.12.6).
   hetmp-test: timeout=40 */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int count = 0, inside = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int i = 0; i < 60; i++) {
#pragma omp task shared(count, inside)
            {
                int x = 0;
#pragma omp critical
                {
                    CHECK(++inside == 1);
#pragma omp task shared(x) depend(out : x)
                    x = 1;
#pragma omp taskwait depend(in : x)
                    CHECK(x == 1);
#pragma omp task shared(x) depend(inout : x)
                    x = 2;
#pragma omp task shared(x) depend(in : x) if (0)
                    CHECK(x == 2);
                    count++;
                    CHECK(inside == 1);
                    inside--;
                }
#pragma omp taskwait
            }
        }
        printf("%d\n", count);
    }
    return check_end();
}
