/* Large private arrays and recursion inside a region with barriers: each virtual thread needs the stack of a thread. */
#include "loop_check.h"

static long depth(int n)
{
    volatile char frame[2000];
    frame[0] = (char)n;
    return n == 0 ? 0 : 1 + depth(n - 1) + (frame[0] != (char)n);
}

int main(void)
{
    enum { N = 64 };
    static long a[N], b[N];
#pragma omp parallel
    {
        double big[20000];
        for (int i = 0; i < 20000; i++)
            big[i] = i;
#pragma omp for
        for (int i = 0; i < N; i++)
            a[i] = depth(500) + (long)big[i];
#pragma omp for
        for (int i = 0; i < N; i++)
            b[i] = a[N - 1 - i] + (long)big[19999];
    }
    long sum = 0;
    for (int i = 0; i < N; i++)
        sum += b[i];
    printf("%ld\n", sum);
    return check_end();
}
