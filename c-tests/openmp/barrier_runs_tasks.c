/* A barrier, explicit or implied, completes every task of the team (OpenMP 5.1, 2.19.2). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int done = 0;
#pragma omp parallel num_threads(n)
        {
            for (int round = 1; round <= 20; round++) {
                for (int i = 0; i < 5; i++) {
#pragma omp task
                    {
#pragma omp task
#pragma omp atomic
                        done++;
#pragma omp atomic
                        done++;
                    }
                }
#pragma omp barrier
                int seen;
#pragma omp atomic read
                seen = done;
                CHECK(seen == n * round * 10);
#pragma omp barrier
            }
#pragma omp task
#pragma omp atomic
            done++;
        }
        CHECK(done == n * 201);
    }
    return check_end();
}
