/* What other nodes cannot answer or take part in: ancestors, reductions of tasks, scans, nested regions. Each region
   stays at the origin, and the results are those of one process. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    int ancestors = 0, tasks = 0, inner = 0, prefix[64], running = 0;
#pragma omp parallel num_threads(4) reduction(+ : ancestors)
    ancestors += omp_get_ancestor_thread_num(0) == 0 && omp_get_team_size(1) == 4;
#pragma omp parallel num_threads(4)
#pragma omp single
#pragma omp taskgroup task_reduction(+ : tasks)
    for (int i = 0; i < 10; i++) {
#pragma omp task in_reduction(+ : tasks)
        tasks += i;
    }
#pragma omp parallel num_threads(4)
    {
#pragma omp parallel num_threads(2) reduction(+ : inner)
        inner++;
    }
#pragma omp parallel for reduction(inscan, + : running) num_threads(4)
    for (int i = 0; i < 64; i++) {
        running += i;
#pragma omp scan inclusive(running)
        prefix[i] = running;
    }
    printf("ancestors %d tasks %d inner %d prefix %d %d\n", ancestors, tasks, inner > 0, prefix[10],
           prefix[63]);
    return 0;
}
