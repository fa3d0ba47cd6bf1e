/* mutexinoutset: any order, never two at once; ordered against in and out (OpenMP 5.1, 2.19.11). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int x = 0, y = 0, inside = 0, total = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int round = 0; round < 20; round++) {
#pragma omp task depend(out : x, y) shared(x, y)
            x = y = 0;
            for (int i = 0; i < 15; i++) {
                if (i % 3 == 0) {
#pragma omp task depend(mutexinoutset : x) depend(mutexinoutset : y) shared(x, y, inside)
                    {
                        CHECK(__atomic_fetch_add(&inside, 1, __ATOMIC_ACQ_REL) == 0);
                        x++;
                        y++;
                        __atomic_fetch_sub(&inside, 1, __ATOMIC_ACQ_REL);
                    }
                } else {
#pragma omp task depend(mutexinoutset : x) shared(x, inside)
                    {
                        CHECK(__atomic_fetch_add(&inside, 1, __ATOMIC_ACQ_REL) == 0);
                        x++;
                        __atomic_fetch_sub(&inside, 1, __ATOMIC_ACQ_REL);
                    }
                }
            }
#pragma omp task depend(in : x, y) shared(x, y, total)
            {
                CHECK(x == 15 && y == 5);
#pragma omp atomic
                total += x + y;
            }
        }
        printf("%d\n", total);
    }
    return check_end();
}
