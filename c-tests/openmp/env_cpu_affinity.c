/* GOMP_CPU_AFFINITY binds threads in the order of the list (libgomp manual, 3.17).
   hetmp-test: env=GOMP_CPU_AFFINITY=1 0 */
#define _GNU_SOURCE
#include <sched.h>
#include "check.h"

int main(void)
{
    int cpu[4] = {-1, -1, -1, -1};
#pragma omp parallel num_threads(4)
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        if (CPU_COUNT(&set) == 1)
            for (int c = 0; c < 64; c++)
                if (CPU_ISSET(c, &set))
                    cpu[omp_get_thread_num()] = c;
    }
    printf("%d %d %d %d\n", cpu[0], cpu[1], cpu[2], cpu[3]);
    printf("%d %d\n", omp_get_num_places(), (int)omp_get_proc_bind());
    return check_end();
}
