/* teams on the host: team numbers, regions inside each team (OpenMP 5.1, 2.7). */
#include "check.h"

/* A function of its own: gcc refuses these calls written directly inside teams. */
__attribute__((noinline)) static void look(void)
{
    CHECK(omp_get_level() == 0 && omp_get_thread_num() == 0 && omp_get_num_threads() == 1);
    CHECK(omp_get_thread_limit() == 4);
}

int main(void)
{
    for (int n = 1; n <= 5; n++) {
        int seen[8] = {0}, threads = 0;
#pragma omp teams num_teams(n) thread_limit(4) reduction(+ : threads)
        {
            CHECK(omp_get_num_teams() == n);
            CHECK(omp_get_team_num() >= 0 && omp_get_team_num() < n);
            look();
            __atomic_fetch_add(&seen[omp_get_team_num()], 1, __ATOMIC_RELAXED);
            int mine = 0;
#pragma omp parallel num_threads(3) reduction(+ : mine)
            {
                CHECK(omp_get_num_threads() == 3);
                CHECK(omp_get_level() == 1);
                mine++;
            }
            threads += mine;
        }
        for (int i = 0; i < 8; i++)
            CHECK(seen[i] == (i < n));
        printf("%d: %d\n", n, threads);
    }
    CHECK(omp_get_num_teams() == 1 && omp_get_team_num() == 0);
    return check_end();
}
