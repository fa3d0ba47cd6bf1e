/* One task that waits for ten thousand, and ten thousand that wait for one (OpenMP 5.1, 2.19.11). */
#include "check.h"

int main(void)
{
    enum { N = 10000 };
    int x = 0, done = 0, after = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp task depend(out : x) shared(x)
        x = 1;
        for (int i = 0; i < N; i++) {
#pragma omp task depend(in : x) shared(x, done)
            {
                CHECK(x == 1);
#pragma omp atomic
                done++;
            }
        }
#pragma omp task depend(inout : x) shared(x, done)
        {
            CHECK(done == N);
            x = 2;
        }
        for (int i = 0; i < N; i++) {
#pragma omp task depend(in : x) shared(x, after)
            {
                CHECK(x == 2);
#pragma omp atomic
                after++;
            }
        }
    }
    printf("%d %d %d\n", x, done, after);
    return check_end();
}
