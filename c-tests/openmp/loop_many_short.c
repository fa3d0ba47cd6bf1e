/* A hundred thousand dynamic loops of few iterations in one region (stress of loop start and end). */
#include "check.h"

int main(void)
{
    long total = 0;
#pragma omp parallel num_threads(2) reduction(+ : total)
    for (int round = 0; round < 100000; round++) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 4; i++)
            total += i + 1;
        if (round % 1000 == 0) {
#pragma omp barrier
        }
    }
    printf("%ld\n", total);
    return check_end();
}
