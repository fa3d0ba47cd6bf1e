/* depend in and out: readers see the last writer, the next writer waits for all readers (OpenMP 5.1, 2.19.11). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int x = 0, readers = 0;
        long sum = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int step = 1; step <= 200; step++) {
#pragma omp task depend(out : x) shared(x, readers)
            {
                CHECK(readers == (step - 1) * 5);
                x = step;
            }
            for (int r = 0; r < 5; r++) {
#pragma omp task depend(in : x) shared(x, readers, sum)
                {
                    CHECK(x == step);
#pragma omp atomic
                    sum += x;
#pragma omp atomic
                    readers++;
                }
            }
        }
        printf("%d %d %ld\n", x, readers, sum);
    }
    return check_end();
}
