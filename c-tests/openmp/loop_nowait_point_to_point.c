/* Threads pass a token through flags inside a nowait loop, as NPB's LU does (OpenMP 5.1, 2.19.8 flush).
   hetmp-test: timeout=20 */
#include "loop_check.h"

static int flags[16];

int main(void)
{
    enum { THREADS = 3, STEPS = 200 };
    static int log[THREADS];
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        for (int step = 1; step <= STEPS; step++) {
            if (me > 0) {
                int seen;
                do {
#pragma omp flush
#pragma omp atomic read
                    seen = flags[me - 1];
                } while (seen < step);
            }
#pragma omp for schedule(static) nowait
            for (int i = 0; i < THREADS; i++)
                log[i]++;
            if (me > 0)
                CHECK(log[me - 1] >= step);
#pragma omp flush
#pragma omp atomic write
            flags[me] = step;
#pragma omp flush
        }
    }
    for (int i = 0; i < THREADS; i++)
        printf("%d ", log[i]);
    puts("");
    return check_end();
}
