/* OMP_NUM_TEAMS and OMP_TEAMS_THREAD_LIMIT and their routines (OpenMP 5.1, 6.23-24 and 3.4).
   hetmp-test: env=OMP_NUM_TEAMS=3
   hetmp-test: env=OMP_TEAMS_THREAD_LIMIT=2 */
#include "check.h"

/* A function of its own: gcc refuses these calls written directly inside teams. */
__attribute__((noinline)) static int thread_limit(void)
{
    return omp_get_thread_limit();
}

int main(void)
{
    printf("%d %d\n", omp_get_max_teams(), omp_get_teams_thread_limit());
    int teams = 0;
#pragma omp teams reduction(+ : teams)
    {
        teams++;
        CHECK(thread_limit() == 2);
#pragma omp parallel
        CHECK(omp_get_num_threads() <= 2);
    }
    printf("%d\n", teams);
    omp_set_num_teams(2);
    omp_set_teams_thread_limit(5);
    printf("%d %d\n", omp_get_max_teams(), omp_get_teams_thread_limit());
    teams = 0;
#pragma omp teams reduction(+ : teams)
    {
        CHECK(thread_limit() == 5);
        teams++;
    }
    printf("%d\n", teams);
    return check_end();
}
