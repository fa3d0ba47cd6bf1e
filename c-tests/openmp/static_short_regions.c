/* Regions so short that one thread is done before others have started: with single, masked, a barrier, reductions,
   and loops in them, of sizes that change, and that are long all of a sudden. Whatever team they are given, each
   iteration is done once, and nested regions stay as nested as they are in a team.
   hetmp-test: threads=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe
   hetmp-test: env=HETMP_NODES=cores={0},watts=2;cores={1},watts=1
   hetmp-test: only=hetmp */
#include <omp.h>
#include <stdio.h>

enum { N = 4096 };

static int done[N];
static long total, singles, masks, nested;

static void step(int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        done[i]++;
}

static void phases(int n)
{
#pragma omp parallel
    {
#pragma omp single
        singles++;
#pragma omp for
        for (int i = 0; i < n; i++)
            done[i]++;
#pragma omp barrier
#pragma omp master
        masks++;
#pragma omp for schedule(dynamic, 4)
        for (int i = 0; i < n; i++)
            done[i]++;
    }
}

static void sum(int n)
{
    long all = 0;
#pragma omp parallel for reduction(+ : all)
    for (int i = 0; i < n; i++)
        all += done[i];
    total += all;
}

static void inner(int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            {
#pragma omp atomic
                nested++;
            }
        }
    }
}

int main(void)
{
    long expected = 0, steps = 0;
    /* Small for long, then large, then small again; and of all sizes. */
    for (int round = 0; round < 3000; round++) {
        int n = round < 1000 ? 8 : round < 1300 ? N : round < 2000 ? 3 : round % 257;
        step(n);
        phases(n % 64);
        if (round % 100 == 0)
            inner(n % 8);
        steps += n + 2 * (n % 64);
        sum(n % 32);
    }
    for (int i = 0; i < N; i++)
        expected += done[i];
    printf("%s\n", expected == steps ? "each iteration once" : "wrong");
    printf("sum %ld, singles %ld, masters %ld\n", total, singles, masks);
    printf("nested %ld\n", nested);
    return 0;
}
