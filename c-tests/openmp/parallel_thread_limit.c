/* The thread limit bounds a team and all teams of a contention group (OpenMP 5.1, 2.6.1).
   hetmp-test: env=OMP_THREAD_LIMIT=5 */
#include "check.h"

int main(void)
{
    CHECK(omp_get_thread_limit() == 5);
    int count = 0;
#pragma omp parallel num_threads(12) reduction(+ : count)
    {
        CHECK(omp_get_num_threads() == 5);
        count++;
    }
    printf("team %d\n", count);
    omp_set_max_active_levels(2);
    int inner = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner)
    {
        int mine = 0;
#pragma omp parallel num_threads(8) reduction(+ : mine)
        mine++;
        CHECK(mine >= 1 && mine <= 4);
        inner += mine;
    }
    CHECK(inner >= 2 && inner <= 8);
    return check_end();
}
