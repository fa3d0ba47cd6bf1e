/* cancel for stops a loop at its cancellation points; no iteration runs twice; later loops are whole (OpenMP 5.1,
   2.20.1). hetmp-test: env=OMP_CANCELLATION=true */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int beyond = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(dynamic, 1)
            for (int i = 0; i < 100000; i++) {
                loop_hit(i);
#pragma omp cancellation point for
                if (i == 50) {
#pragma omp cancel for
                }
                if (i == 50)
                    beyond++;
            }
#pragma omp for schedule(static)
            for (int i = 200000; i < 200100; i++)
                loop_hit(i);
        }
        int twice = 0, ran = 0;
        for (int i = 0; i < 100000; i++) {
            twice += loop_hits[i] > 1;
            ran += loop_hits[i];
        }
        CHECK(twice == 0 && beyond == 0 && loop_hits[50] == 1 && ran < 100000);
        for (int i = 200000; i < 200100; i++)
            CHECK(loop_hits[i] == 1);
        if (n == 1)
            printf("%d\n", ran);
        memset(loop_hits, 0, sizeof loop_hits);
    }
    return check_end();
}
