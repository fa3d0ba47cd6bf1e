/* Where a region runs, as measured. Standard error says in how many of the last executions of each phase iterations ran
   in another process, and in how many some ran in this one.
   phases: iterations sleep, so that the times do not depend on other programs. First the origin is slow, then every
   other node is. whole: the region's threads divide its work by their numbers, so that a slow node cannot have a
   smaller part. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ITERATIONS = 24, LAST = 10, ROWS = 1 << 14 };

static int origin, ran_in[ITERATIONS];
static double sum[2];

static void sleeps(int at_origin_us, int elsewhere_us)
{
#pragma omp parallel for schedule(dynamic) num_threads(2)
    for (int i = 0; i < ITERATIONS; i++) {
        ran_in[i] = getpid();
        usleep(ran_in[i] == origin ? at_origin_us : elsewhere_us);
    }
}

static void computes(void)
{
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        double x = 0;
        for (int i = ROWS / all * me; i < ROWS / all * (me + 1); i++)
            for (int k = 0; k < 200; k++)
                x = x * 0.5 + 1 / (1 + i + x * x);
        ran_in[me] = getpid();
        sum[me] += x;
    }
}

/* Adds to `there` and `here` whether iterations ran elsewhere and at the origin. */
static void look(int n, int *there, int *here)
{
    int away = 0;
    for (int i = 0; i < n; i++)
        away += ran_in[i] != origin;
    *there += away > 0;
    *here += away < n;
}

static void phase(const char *name, int laps, int at_origin_us, int elsewhere_us)
{
    int there = 0, here = 0;
    for (int lap = 0; lap < laps; lap++) {
        sleeps(at_origin_us, elsewhere_us);
        if (lap >= laps - LAST)
            look(ITERATIONS, &there, &here);
    }
    fprintf(stderr, "%s: elsewhere %d, at the origin %d\n", name, there, here);
}

int main(int argc, char **argv)
{
    origin = getpid();
    if (argc > 1 && !strcmp(argv[1], "whole")) {
        int there = 0, here = 0, laps = 80;
        for (int lap = 0; lap < laps; lap++) {
            computes();
            if (lap >= laps - LAST)
                look(2, &there, &here);
        }
        fprintf(stderr, "whole: elsewhere %d, at the origin %d\n", there, here);
    } else {
        phase("slow origin", 60, 1000, 100);
        phase("slow nodes", 40, 100, 8000);
    }
    printf("%.9f\n", sum[0] + sum[1]);
    return 0;
}
