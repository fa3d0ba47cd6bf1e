/* Regions that are no virtual teams, since they use the thread number: parts of other sizes must cover each loop once,
   whatever the types, steps and lengths, and loops of one length must be divided alike.
   hetmp-test: threads=2,3
   hetmp-test: way=uneven */
#include "loop_check.h"

enum { N = 5003 };
static int owner[N], other[N];
static long per_thread[64];

__attribute__((noinline)) static void count(long first, long last, int *hits)
{
    int numbers = 0;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        per_thread[me] = me + 1;
#pragma omp for
        for (long i = first; i < last; i += 3)
            __atomic_fetch_add(&hits[i], 1, __ATOMIC_RELAXED);
#pragma omp atomic
        numbers += per_thread[me] == me + 1;
    }
    CHECK(numbers == omp_get_max_threads());
}

__attribute__((noinline)) static void types(int n, unsigned u, unsigned long w)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        per_thread[me] = me;
#pragma omp for nowait
        for (int i = n - 1; i >= 0; i--)
            loop_hit(i);
#pragma omp for nowait
        for (unsigned i = 0; i < u; i++)
            loop_hit(i);
#pragma omp for nowait
        for (unsigned long i = 1; i < w + 1; i++)
            loop_hit((long)i - 1);
    }
#pragma omp parallel
    {
        per_thread[omp_get_thread_num()] = 0;
        /* A division of 16 bits. */
#pragma omp for nowait
        for (short i = 0; i < (short)n; i++)
            loop_hit(i);
    }
}

/* Iterations of the second loop read what the first one has written in the same thread. */
__attribute__((noinline)) static long alike(int n)
{
    long wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        int me = omp_get_thread_num();
#pragma omp for schedule(static) nowait
        for (int i = 0; i < n; i++)
            owner[i] = me;
#pragma omp for schedule(static) nowait
        for (int i = 0; i < n; i++) {
            wrong += owner[i] != me;
            other[i] = me;
        }
    }
    for (int i = 1; i < n; i++)
        wrong += other[i] < other[i - 1];
    return wrong;
}

__attribute__((noinline)) static void last(int n)
{
    int x = -1, y = -1, i;
#pragma omp parallel
    {
        per_thread[omp_get_thread_num()] = 0;
#pragma omp for lastprivate(x) lastprivate(i)
        for (i = 0; i < n; i++)
            x = 2 * i;
    }
    CHECK(x == 2 * (n - 1) && i == n);
#pragma omp parallel num_threads(2)
    {
        per_thread[omp_get_thread_num()] = 0;
#pragma omp for lastprivate(y) collapse(2)
        for (int a = 0; a < n; a++)
            for (int b = 0; b < 7; b++)
                y = a * 7 + b;
    }
    CHECK(y == n * 7 - 1);
}

int main(void)
{
    static int hits[N];
    for (int round = 0; round < 8; round++) {
        long lengths[] = {0, 1, 2, 3, 4, 5, 100, N};
        for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; k++) {
            memset(hits, 0, sizeof hits);
            count(0, lengths[k], hits);
            for (long i = 0; i < N; i++)
                CHECK(hits[i] == (i < lengths[k] && i % 3 == 0));
            int n = (int)lengths[k];
            types(n, (unsigned)n, (unsigned long)n);
            LOOP_EXPECT(n, 4);
            CHECK(alike(n) == 0);
            if (n > 0)
                last(n);
        }
        count(10, -10, hits);
    }
    return check_end();
}
