/* A taskgroup in every thread at once, each waits for its own tasks only (OpenMP 5.1, 2.19.6). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int total = 0;
#pragma omp parallel num_threads(n) reduction(+ : total)
        for (int round = 0; round < 30; round++) {
            int mine = 0;
#pragma omp taskgroup
            {
                for (int i = 0; i < 10; i++) {
#pragma omp task shared(mine)
#pragma omp atomic
                    mine++;
                }
            }
            CHECK(mine == 10);
            total += mine;
        }
        CHECK(total == n * 300);
    }
    return check_end();
}
