/* Partial results in an array that has a place for each thread and no more.
   hetmp-test: threads=1,2,3
   hetmp-test: way=thread-number */
#include "loop_check.h"

int main(void)
{
    enum { N = 10000 };
    int threads = omp_get_max_threads();
    /* Guard words around: a team larger than was announced would write there. */
    long *best = calloc((size_t)threads + 64, sizeof *best);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        best[me] = -1;
#pragma omp for
        for (int i = 0; i < N; i++) {
            long v = (i * 7919L) % 10007;
            if (v > best[me])
                best[me] = v;
        }
    }
    long top = -1;
    for (int t = 0; t < threads; t++)
        if (best[t] > top)
            top = best[t];
    for (int t = threads; t < threads + 64; t++)
        CHECK(best[t] == 0);
    printf("%ld\n", top);
    free(best);
    return check_end();
}
