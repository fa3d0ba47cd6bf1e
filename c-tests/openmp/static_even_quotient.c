/* The program makes the same division as the compiler does for its loop, and uses the quotient for itself: with another
   number in its place the program's own parts would be wrong.
   hetmp-test: threads=2,3
   hetmp-test: way=thread-number */
#include "loop_check.h"

enum { N = 6000 };
static int seen[N], again[N];
static long lengths[64];

__attribute__((noinline)) static void run(int n)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        int threads = omp_get_num_threads();
        int part = n / threads;
        lengths[me] = part;
        int from = me == 0 ? 0 : (int)(n - lengths[me] * (threads - me));
        int to = me == threads - 1 ? n : (int)(n - part * (threads - me - 1));
        for (int i = from; i < to; i++)
            __atomic_fetch_add(&again[i], 1, __ATOMIC_RELAXED);
#pragma omp for
        for (int i = 0; i < n; i++)
            seen[i]++;
    }
}

int main(void)
{
    for (int round = 0; round < 6; round++) {
        memset(seen, 0, sizeof seen);
        memset(again, 0, sizeof again);
        run(N);
        for (int i = 0; i < N; i++)
            CHECK(seen[i] == 1 && again[i] == 1);
    }
    return check_end();
}
