/* Neighbours wait for each other's part of a nowait loop by flags, with no call at all, as NPB's LU does.
   Must neither hang nor compute something else.
   hetmp-test: threads=2,3
   hetmp-test: timeout=60
   hetmp-test: way=waits */
#include "loop_check.h"

enum { N = 64 };
static volatile int done[N + 2];
static long a[N + 2], b[N + 2];

int main(void)
{
    long sum = 0;
    for (int run = 0; run < 3; run++) {
        for (int i = 0; i < N + 2; i++)
            done[i] = i == 0 || i == N + 1;
#pragma omp parallel
        {
#pragma omp for nowait
            for (int i = 1; i <= N; i++) {
                a[i] = a[i] + i;
                __sync_synchronize();
                done[i] = 1;
            }
#pragma omp for nowait
            for (int i = 1; i <= N; i++) {
                /* The neighbours across the border of a chunk belong to another thread. */
                while (!done[i - 1] || !done[i + 1])
                    __sync_synchronize();
                b[i] = a[i - 1] + a[i + 1];
            }
        }
        for (int i = 1; i <= N; i++)
            sum += b[i];
    }
    printf("%ld\n", sum);
    return check_end();
}
