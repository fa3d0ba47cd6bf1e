/* taskwait with depend waits for the named predecessors only (OpenMP 5.1, 2.19.5). */
#include "check.h"

int main(void)
{
    for (int n = 2; n <= 6; n++) {
        int x = 0, y = 0, hold = 1, all = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 1; i <= 50; i++) {
#pragma omp task depend(inout : x) shared(x)
                x++;
#pragma omp taskwait depend(in : x)
                CHECK(x == i);
            }
            /* Two objects, the second one read by several tasks. */
#pragma omp task depend(out : y) shared(y)
            y = 5;
            for (int i = 0; i < 4; i++) {
#pragma omp task depend(in : y) shared(y, all)
#pragma omp atomic
                all += y;
            }
#pragma omp taskwait depend(out : y) depend(in : x)
            CHECK(all == 20);
            (void)hold;
        }
        printf("%d %d %d\n", x, y, all);
    }
    return check_end();
}
