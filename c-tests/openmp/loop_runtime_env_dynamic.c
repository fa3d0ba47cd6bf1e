/* OMP_SCHEDULE sets run-sched-var for schedule(runtime) (OpenMP 5.1, 6.1).
   hetmp-test: env=OMP_SCHEDULE=dynamic,4 */
#include "loop_check.h"

int main(void)
{
    enum { N = 1003 };
    static int owner[N];
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("kind %d chunk %d\n", (int)(kind & 0x7fffffff), chunk);
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < N; i++) {
        loop_hit(i);
        owner[i] = omp_get_thread_num();
    }
    LOOP_EXPECT(N, 1);
    for (int i = 0; i < N; i++)
        CHECK(owner[i] == owner[i & ~3]);
    return check_end();
}
