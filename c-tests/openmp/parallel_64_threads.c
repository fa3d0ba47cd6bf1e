/* 64 threads on few cores pass barriers, a loop and a single (OpenMP 5.1, 2.6; oversubscription). */
#include "check.h"

int main(void)
{
    int singles = 0;
    long sum = 0;
#pragma omp parallel num_threads(64) reduction(+ : sum)
    {
        CHECK(omp_get_num_threads() == 64);
        for (int i = 0; i < 20; i++) {
#pragma omp single
            singles++;
#pragma omp for schedule(dynamic, 3)
            for (int k = 0; k < 500; k++)
                sum += k;
#pragma omp barrier
        }
    }
    printf("%d %ld\n", singles, sum);
    return check_end();
}
