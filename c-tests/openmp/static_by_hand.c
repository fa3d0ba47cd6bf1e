/* The program divides its loop itself, by the number of threads that it asked for before the region.
   hetmp-test: way=thread-number */
#include "loop_check.h"

int main(void)
{
    enum { N = 1003 };
    static int seen[N];
    int threads = omp_get_max_threads();
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int i = me; i < N; i += threads)
            seen[i]++;
    }
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == 1);
    return check_end();
}
