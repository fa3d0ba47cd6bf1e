/* Dependent tasks of a cancelled taskgroup are dropped without blocking the group (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true
   hetmp-test: timeout=30 */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int after = 0, x = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskgroup
            {
#pragma omp task depend(out : x) shared(x)
                {
                    x = 1;
#pragma omp cancel taskgroup
                    x = 2;
                }
                for (int i = 0; i < 50; i++) {
#pragma omp task depend(inout : x) shared(x, after)
                    after++;
                }
            }
            CHECK(x == 1 && after == 0);
            /* The dependence table is usable again. */
            for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : x) shared(x)
                x++;
            }
#pragma omp taskwait
            CHECK(x == 11);
        }
        printf("%d %d\n", x, after);
    }
    return check_end();
}
