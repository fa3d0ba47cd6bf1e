/* cancel for in a static loop: threads stop at their own cancellation points (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true
   hetmp-test: timeout=30 */
#include "check.h"

int main(void)
{
    for (int n = 2; n <= 6; n++) {
        int done = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(static)
            for (int i = 0; i < n; i++) {
                if (i == 0) {
#pragma omp cancel for
                } else {
                    for (;;) {
#pragma omp cancellation point for
                    }
                }
            }
#pragma omp atomic
            done++;
        }
        CHECK(done == n);
        printf("%d\n", done);
    }
    return check_end();
}
