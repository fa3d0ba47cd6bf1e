/* teams and distribute inside target, with reductions and thread limits (OpenMP 5.1, 2.16). */
#include "loop_check.h"

/* A function of its own: gcc refuses these calls written directly inside teams. */
__attribute__((noinline)) static int thread_limit(void)
{
    return omp_get_thread_limit();
}

int main(void)
{
    long sum = 0;
    int a[2000];
#pragma omp target teams distribute parallel for map(from : a) reduction(+ : sum) map(tofrom : sum)
    for (int i = 0; i < 2000; i++) {
        a[i] = i;
        sum += i;
    }
    for (int i = 0; i < 2000; i++)
        CHECK(a[i] == i);
#pragma omp target parallel for schedule(dynamic, 3) num_threads(4) map(tofrom : a)
    for (int i = 0; i < 2000; i++)
        a[i]++;
#pragma omp target simd map(tofrom : a)
    for (int i = 0; i < 2000; i++)
        a[i]++;
    int limit = -1;
#pragma omp target teams num_teams(3) thread_limit(2) map(tofrom : limit)
    {
        CHECK(omp_get_num_teams() >= 1 && omp_get_num_teams() <= 3);
#pragma omp parallel
        CHECK(omp_get_num_threads() <= 2);
        if (omp_get_team_num() == 0)
            limit = thread_limit();
    }
    int threads = 0;
#pragma omp target parallel num_threads(3) map(tofrom : threads) reduction(+ : threads)
    threads++;
    for (int i = 0; i < 2000; i++)
        CHECK(a[i] == i + 2);
    printf("%ld %d %d\n", sum, limit, threads);
    return check_end();
}
