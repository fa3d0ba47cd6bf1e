/* Worksharing in functions called inside and outside of regions (OpenMP 5.1, 2.11). */
#include "loop_check.h"

__attribute__((noinline)) static void work(long n)
{
#pragma omp for schedule(dynamic, 5)
    for (long i = 0; i < n; i++)
        loop_hit(i);
}

__attribute__((noinline)) static int one(void)
{
    int mine = 0;
#pragma omp single
    mine = 1;
#pragma omp sections
    {
#pragma omp section
        loop_hit(1000);
#pragma omp section
        loop_hit(1001);
    }
    return mine;
}

int main(void)
{
    work(500);
    LOOP_EXPECT(500, 1);
    CHECK(one() == 1);
    CHECK(loop_hits[1000] == 1 && loop_hits[1001] == 1);
    memset(loop_hits, 0, 2000);
    int ones = 0;
#pragma omp parallel num_threads(4) reduction(+ : ones)
    {
        work(500);
        ones += one();
        work(0);
    }
    CHECK(ones == 1);
    CHECK(loop_hits[1000] == 1 && loop_hits[1001] == 1);
    loop_hits[1000] = loop_hits[1001] = 0;
    LOOP_EXPECT(500, 1);
    /* Serialised inner regions bind to a team of one. */
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(3)
#pragma omp parallel num_threads(3)
    work(200);
    LOOP_EXPECT(200, 3);
    return check_end();
}
