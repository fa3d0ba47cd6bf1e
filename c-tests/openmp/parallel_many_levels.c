/* Forty nested regions, two threads wide at the first three levels only (OpenMP 5.1, 2.6). */
#include "check.h"

static int leaves;

static void descend(int depth)
{
    if (depth == 40) {
        CHECK(omp_get_level() == 40);
        CHECK(omp_get_active_level() == 3);
        for (int l = 1; l <= 40; l++)
            CHECK(omp_get_team_size(l) == (l <= 3 ? 2 : 1));
#pragma omp atomic
        leaves++;
        return;
    }
#pragma omp parallel num_threads(depth < 3 ? 2 : 1)
    descend(depth + 1);
}

int main(void)
{
    omp_set_max_active_levels(64);
    descend(0);
    printf("%d\n", leaves);
    return check_end();
}
