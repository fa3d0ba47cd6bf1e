/* The program chooses the schedule of schedule(runtime) loops that begin together with their region. Each iteration
   runs once, and a static loop's in the thread that the standard says. */
#include <omp.h>
#include <stdio.h>

enum { N = 1000, TURNS = 8, CHUNK = 7 };

static int ran[N], by[N];

int main(void)
{
    int wrong = 0, elsewhere = 0, threads = omp_get_max_threads();
    for (int turn = 0; turn < TURNS; turn++) {
        int fixed = turn % 2 == 0, chunk = turn % 4 < 2 ? 0 : CHUNK;
        omp_set_schedule(fixed ? omp_sched_static : omp_sched_dynamic, chunk);
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < N; i++) {
            ran[i]++;
            by[i] = omp_get_thread_num();
        }
        for (int i = 0; fixed && i < N; i++)
            elsewhere += by[i] != (chunk ? i / chunk % threads : i / (N / threads));
    }
    for (int i = 0; i < N; i++)
        wrong += ran[i] != TURNS;
    printf("%d wrong, %d elsewhere\n", wrong, elsewhere);
    return 0;
}
