/* OMP_PLACES=threads and =cores give places that partition the usable processors (OpenMP 5.1, 6.5).
   hetmp-test: env=OMP_PLACES=threads
   hetmp-test: env=OMP_PROC_BIND=close */
#define _GNU_SOURCE
#include <sched.h>
#include "check.h"

int main(void)
{
    int n = omp_get_num_places(), procs = 0, seen[1024] = {0}, ids[1024];
    CHECK(n >= 1);
    for (int p = 0; p < n; p++) {
        int k = omp_get_place_num_procs(p);
        CHECK(k == 1);
        omp_get_place_proc_ids(p, ids);
        for (int i = 0; i < k; i++) {
            CHECK(ids[i] >= 0 && ids[i] < 1024 && seen[ids[i]]++ == 0);
            procs++;
        }
    }
    CHECK(procs == omp_get_num_procs());
    return check_end();
}
