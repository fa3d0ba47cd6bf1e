/* Tasks whose parents end before them, several generations deep, while taskwaits and taskgroups wait
   for others (stress of records that outlive their tasks).
   hetmp-test: timeout=120 */
#include <stdio.h>
#include <omp.h>

static long ran;

static void orphan(int depth, unsigned seed)
{
#pragma omp atomic
    ran++;
    if (depth == 0)
        return;
    int children = 1 + seed % 3;
    for (int i = 0; i < children; i++) {
        unsigned next = seed * 1103515245u + 12345u + (unsigned)i;
#pragma omp task firstprivate(depth, next)
        orphan(depth - 1, next >> 3);
    }
    if (seed % 5 == 0) {
#pragma omp taskwait
    }
    if (seed % 7 == 0) {
        int seen = 0;
#pragma omp taskgroup
        {
#pragma omp task shared(seen)
            {
#pragma omp task shared(seen)
#pragma omp atomic
                seen++;
            }
        }
        if (seen != 1)
            printf("a taskgroup ended before its tasks\n");
    }
}

static long expected(int depth, unsigned seed)
{
    if (depth == 0)
        return 1;
    long n = 1;
    for (int i = 0; i < (int)(1 + seed % 3); i++) {
        unsigned next = seed * 1103515245u + 12345u + (unsigned)i;
        n += expected(depth - 1, next >> 3);
    }
    return n;
}

int main(void)
{
    long want = 0;
    for (int round = 0; round < 300; round++) {
        unsigned seed = 77u + (unsigned)round * 31u;
        want += expected(7, seed);
#pragma omp parallel num_threads(1 + round % 4)
        {
#pragma omp single
#pragma omp task
            orphan(7, seed);
#pragma omp barrier
#pragma omp single nowait
            for (int i = 0; i < 4; i++) {
#pragma omp task
#pragma omp atomic
                ran++;
            }
        }
        want += 4;
    }
    printf("%s\n", ran == want ? "all tasks ran once" : "tasks lost or run twice");
    return ran != want;
}
