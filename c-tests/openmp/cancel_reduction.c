/* A search that cancels its loop with a reduction and a lastprivate-free result (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true */
#include "check.h"

int main(void)
{
    static int data[50000];
    for (int i = 0; i < 50000; i++)
        data[i] = i * 2;
    int found = 0;
    for (int target = 0; target < 60; target++) {
        int where = -1;
#pragma omp parallel num_threads(4)
        {
#pragma omp for schedule(static)
            for (int i = 0; i < 50000; i++) {
                if (data[i] == target * 1600) {
#pragma omp atomic write
                    where = i;
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
        }
        if (target * 1600 < 100000) {
            CHECK(where == target * 800);
            found++;
        }
    }
    printf("%d\n", found);
    return check_end();
}
