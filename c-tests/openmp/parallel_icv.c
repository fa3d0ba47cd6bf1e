/* ICVs are inherited by the region's tasks and changes inside stay inside (OpenMP 5.1, 2.4.3). */
#include "check.h"

int main(void)
{
    omp_set_num_threads(3);
    omp_set_max_active_levels(2);
    omp_set_schedule(omp_sched_dynamic, 7);
    int sizes[3] = {0};
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        omp_sched_t kind;
        int chunk;
        omp_get_schedule(&kind, &chunk);
        CHECK((kind & 0xff) == omp_sched_dynamic && chunk == 7);
        CHECK(omp_get_max_threads() == 3);
        omp_set_num_threads(2 + me);
        omp_set_schedule(omp_sched_guided, 1 + me);
#pragma omp barrier
        CHECK(omp_get_max_threads() == 2 + me);
        omp_get_schedule(&kind, &chunk);
        CHECK((kind & 0xff) == omp_sched_guided && chunk == 1 + me);
#pragma omp parallel
        {
            CHECK(omp_get_num_threads() == 2 + me);
            CHECK(omp_get_max_threads() == 2 + me);
            omp_get_schedule(&kind, &chunk);
#pragma omp single
            sizes[me] = omp_get_num_threads();
        }
    }
    CHECK(omp_get_max_threads() == 3);
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    CHECK((kind & 0xff) == omp_sched_dynamic && chunk == 7);
    printf("%d %d %d\n", sizes[0], sizes[1], sizes[2]);
    return check_end();
}
