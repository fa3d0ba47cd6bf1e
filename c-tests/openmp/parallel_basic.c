/* Each thread of a team runs the region once with its own number (OpenMP 5.1, 2.6). */
#include "check.h"

int main(void)
{
    int seen[256] = {0}, size = 0;
    CHECK(omp_in_parallel() == 0);
    CHECK(omp_get_num_threads() == 1);
    int expect = omp_get_max_threads();
    for (int round = 1; round <= 50; round++) {
#pragma omp parallel
        {
            int me = omp_get_thread_num();
            CHECK(me >= 0 && me < omp_get_num_threads());
            CHECK(omp_get_num_threads() == expect);
            seen[me]++;
            if (me == 0)
                size = omp_get_num_threads();
        }
        CHECK(size == expect);
        for (int i = 0; i < 256; i++)
            CHECK(seen[i] == (i < expect ? round : 0));
    }
    CHECK(omp_get_num_threads() == 1);
    CHECK(omp_get_thread_num() == 0);
    return check_end();
}
