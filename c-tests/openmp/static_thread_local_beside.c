/* An object with thread-local variables, and a region that does not reach any: it may be a virtual team.
   hetmp-test: way=virtual-team */
#include "loop_check.h"

static int mine;
#pragma omp threadprivate(mine)
static double value[5000];

static __attribute__((noinline)) void region(int n, double by)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        value[i] = value[i] * by + i;
}

int main(void)
{
    enum { N = 5000 };
    long sum = 0;
    for (int round = 0; round < 5; round++)
        region(N, round);
#pragma omp parallel
    mine = 1;
#pragma omp parallel reduction(+ : sum)
    sum += mine == 1;
    CHECK(sum >= 1);
    double total = 0;
    for (int i = 0; i < N; i++)
        total += value[i];
    printf("%.0f\n", total);
    return check_end();
}
