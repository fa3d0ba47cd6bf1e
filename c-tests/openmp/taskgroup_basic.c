/* The end of a taskgroup waits for all descendants (OpenMP 5.1, 2.19.6). */
#include "check.h"

static int count;

static void spawn(int depth)
{
#pragma omp atomic
    count++;
    if (depth)
        for (int i = 0; i < 3; i++) {
#pragma omp task
            spawn(depth - 1);
        }
}

int main(void)
{
    for (int n = 1; n <= 8; n++) {
#pragma omp parallel num_threads(n)
        {
#pragma omp single
            for (int round = 0; round < 10; round++) {
                count = 0;
#pragma omp taskgroup
                {
#pragma omp task
                    spawn(5);
                }
                CHECK(count == 364);
            }
        }
    }
    printf("%d\n", count);
    return check_end();
}
