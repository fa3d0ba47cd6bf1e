/* The CPUs that a region's threads may use which stays at the origin (it calls sched_getaffinity). */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>

int main(void)
{
    int least = 1 << 20, most = 0;
#pragma omp parallel num_threads(4) reduction(min : least) reduction(max : most)
    {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        least = most = CPU_COUNT(&set);
    }
    printf("%d %d\n", least, most);
    return 0;
}
