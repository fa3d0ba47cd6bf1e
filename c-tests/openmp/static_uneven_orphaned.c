/* A function that the region calls has a loop of its own, whose iterations rely on those that the same thread ran in
   the region's loop: both must be divided alike.
   hetmp-test: threads=2,3
   hetmp-test: way=uneven */
#include "loop_check.h"

enum { N = 6000 };
static int owner[N];
static long wrong;

__attribute__((noinline)) static void second(int n, int me)
{
    long mine = 0;
#pragma omp for schedule(static) nowait
    for (int i = 0; i < n; i++)
        mine += owner[i] != me;
    __atomic_fetch_add(&wrong, mine, __ATOMIC_RELAXED);
}

int main(void)
{
    int n = N;
    for (int round = 0; round < 6; round++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
#pragma omp for schedule(static) nowait
            for (int i = 0; i < n; i++)
                owner[i] = me;
            second(n, me);
            /* No jump into the function instead of a call: that would be code of the region. */
            __atomic_fetch_add(&wrong, me & 0, __ATOMIC_RELAXED);
        }
    }
    CHECK(wrong == 0);
    return check_end();
}
