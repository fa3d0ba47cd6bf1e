/* The iterations of a chunk stay together under a schedule of the environment: every thread that runs one of them runs
   them all, in order. Programs fill the words of a bitmap that way (OpenMP 5.1, 2.11.4).
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe */
#include "loop_check.h"
#include <string.h>

enum { MOST = 200000 };
static int owner[MOST];
static unsigned char seen[MOST];

static void whole(long n, long chunk)
{
    long wrong = 0;
    for (long i = 0; i < n; i++)
        wrong += owner[i] != owner[i - i % chunk] || seen[i] != 1;
    CHECK(wrong == 0);
    memset(seen, 0, sizeof seen);
}

/* Some iterations take longer, so that threads get in each other's way wherever they may. */
static void one(long i)
{
    for (volatile int k = 0; k < (i / 512 % 3) * 20; k++)
        ;
    owner[i] = omp_get_thread_num();
    seen[i]++;
}

int main(void)
{
    static const long sizes[] = {1, 63, 64, 65, 1000, 1024, 8191, 20000, 131071, MOST};
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++)
        for (int again = 0; again < 6; again++) {
            long n = sizes[s];
#pragma omp parallel for schedule(dynamic, 64)
            for (long i = 0; i < n; i++)
                one(i);
            whole(n, 64);
#pragma omp parallel for schedule(monotonic : dynamic, 1000)
            for (long i = 0; i < n; i++)
                one(i);
            whole(n, 1000);
#pragma omp parallel
            {
#pragma omp for schedule(dynamic, 1024)
                for (unsigned long long i = 0; i < (unsigned long long)n; i++)
                    one((long)i);
            }
            whole(n, 1024);
#pragma omp parallel for schedule(dynamic, 7)
            for (int i = (int)n - 1; i >= 0; i--)
                one(n - 1 - i);
            whole(n, 7);
        }
    return check_end();
}
