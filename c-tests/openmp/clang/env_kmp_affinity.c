/* KMP_AFFINITY binds each thread to one CPU, neighbours to neighbours, and wins over OMP_PROC_BIND.
   hetmp-test: env=KMP_AFFINITY=granularity=fine,compact,nowarnings
   hetmp-test: env=OMP_PROC_BIND=false
   hetmp-test: threads=2 */
#define _GNU_SOURCE
#include <sched.h>
#include "../check.h"

int main(void)
{
    cpu_set_t before;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    int cpus = CPU_COUNT(&before), places = omp_get_num_places();
    CHECK(places >= 1);
#pragma omp parallel
    {
        cpu_set_t mine;
        CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
        CHECK(CPU_COUNT(&mine) == 1);
        CHECK(omp_get_place_num() == omp_get_thread_num() % places);
        CHECK(omp_get_place_num_procs(omp_get_place_num()) == 1);
    }
    printf("%s\n", cpus >= 1 ? "bound" : "no CPUs");
    return check_end();
}
