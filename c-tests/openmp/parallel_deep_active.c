/* Ten active levels, two threads at each along one path: team sizes hold all the way down (OpenMP 5.1, 2.6). */
#include "check.h"

static int visits;

static void descend(int depth)
{
#pragma omp parallel num_threads(2)
    {
        CHECK(omp_get_num_threads() == 2);
        CHECK(omp_get_active_level() == depth + 1);
#pragma omp atomic
        visits++;
        if (depth < 9 && omp_get_thread_num() == (depth & 1))
            descend(depth + 1);
#pragma omp barrier
    }
}

int main(void)
{
    omp_set_max_active_levels(10);
    for (int i = 0; i < 5; i++)
        descend(0);
    printf("%d\n", visits);
    return check_end();
}
