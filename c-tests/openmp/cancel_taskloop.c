/* A cancelled taskloop ends; each iteration ran at most once (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int past = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskloop num_tasks(100) shared(past)
            for (int i = 0; i < 1000; i++) {
#pragma omp cancellation point taskgroup
                loop_hit(i);
                if (i == 13) {
#pragma omp cancel taskgroup
                    past++;
                }
            }
#pragma omp taskloop
            for (int i = 2000; i < 2100; i++)
                loop_hit(i);
        }
        for (int i = 0; i < 1000; i++)
            CHECK(loop_hits[i] <= 1);
        for (int i = 2000; i < 2100; i++)
            CHECK(loop_hits[i] == 1);
        CHECK(past == 0 && loop_hits[13] == 1);
        memset(loop_hits, 0, 4000);
    }
    return check_end();
}
