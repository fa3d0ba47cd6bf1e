/* A loop has no barrier at its entry: a thread may wait elsewhere until the others have finished loops with nowait
   that it has not come to yet (OpenMP 5.1, 2.11.4). No schedule may wait for a thread that has not arrived.
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe
   hetmp-test: timeout=40 */
#include "loop_check.h"
#include <sched.h>

enum { LOOPS = 40, N = 900 };

int main(void)
{
    /* Each thread is the late one in turn, so that each node is the one that nobody has come from. */
    for (int round = 0; round < 6; round++) {
        int finished = 0;
#pragma omp parallel
        {
            int threads = omp_get_num_threads();
            int late = round % threads;
            if (threads > 1 && omp_get_thread_num() == late)
                while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < threads - 1)
                    sched_yield();
            for (int l = 0; l < LOOPS; l++) {
#pragma omp for schedule(runtime) nowait
                for (long i = 0; i < N; i++)
                    loop_hit(i);
#pragma omp for schedule(dynamic, 5) nowait
                for (long i = 0; i < N; i++)
                    loop_hit(i);
            }
            __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
        }
        LOOP_EXPECT(N, 2 * LOOPS);
    }
    return check_end();
}
