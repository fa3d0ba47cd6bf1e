/* Thread 0 runs 200 nowait loops ahead before it releases the others by a flag; the runtime must not make it wait for
   them in a loop (OpenMP 5.1, 2.11.4). hetmp-test: timeout=20 */
#include "loop_check.h"

static int go;

int main(void)
{
    for (int n = 2; n <= 4; n++) {
        go = 0;
#pragma omp parallel num_threads(n)
        {
            if (omp_get_thread_num() != 0)
                while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
                    ;
            for (int round = 0; round < 200; round++) {
#pragma omp for schedule(dynamic, 2) nowait
                for (int i = 0; i < 40; i++)
                    loop_hit(i);
#pragma omp single nowait
                loop_hit(40);
            }
            if (omp_get_thread_num() == 0)
                __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
        }
        LOOP_EXPECT(41, 200);
    }
    return check_end();
}
