/* Threads that number themselves by a shared counter, and keep a place each by that number: for as many as the program
   expects.
   hetmp-test: way=unscanned */
#include "loop_check.h"

enum { MOST = 4096, N = 3000 };
static long sums[MOST];
static int next;

int main(void)
{
    long total = 0;
    for (int round = 0; round < 3; round++) {
        next = 0;
#pragma omp parallel
        {
            int me;
#pragma omp atomic capture
            me = next++;
            long mine = 0;
#pragma omp for
            for (int i = 0; i < N; i++)
                mine += i;
            sums[me] = mine;
        }
        CHECK(next <= omp_get_max_threads());
        for (int t = 0; t < next; t++)
            total += sums[t];
    }
    printf("%ld\n", total);
    return check_end();
}
