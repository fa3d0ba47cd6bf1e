/* taskloops and tasks inside taskloop iterations; the group waits for all of them (OpenMP 5.1, 2.12.2). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int x = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskloop num_tasks(4)
            for (int i = 0; i < 12; i++) {
#pragma omp taskloop grainsize(2) nogroup
                for (int j = 0; j < 10; j++) {
#pragma omp task
#pragma omp atomic
                    x++;
#pragma omp atomic
                    x++;
                }
            }
            CHECK(x == 240);
        }
        printf("%d\n", x);
    }
    return check_end();
}
