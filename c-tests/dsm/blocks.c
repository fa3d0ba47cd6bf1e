/* Loops that a schedule divides among nodes before they begin.
   laps N: a loop over an array, N times. given: how many iterations the threads of each half of the region had, in the
   lap that fits 3 : 1 best. unlike N M: N laps in which a row takes the longer, the later it comes, and M laps the
   other way round. chunks: whether the program's chunks of 24 rows stay whole. late: a thread that comes to the loop
   only after others have executed all of it. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2048, COLUMNS = 64, LINE = 4096 / sizeof(int), TRIES = 12, STEPS = 500, CHUNK = 24 };

static double data[ROWS][COLUMNS] __attribute__((aligned(4096)));
/* A page for each thread. */
static int had[8][LINE] __attribute__((aligned(4096)));
static int done;

static void row(int i, int steps)
{
    double x = i * 1e-3;
    for (int k = 0; k < steps; k++)
        x = x * 0.5 + 1 / (1 + x * x);
    for (int k = 0; k < COLUMNS; k++)
        data[i][k] += x + k;
}

static void lap(void)
{
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < ROWS; i++)
        row(i, STEPS);
}

static void unlike(int falls)
{
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < ROWS; i++)
        row(i, falls ? ROWS - i : i);
}

/* How far the first half of the threads was from three quarters. The loop begins with the region, or later. */
static int off_by(int later)
{
    int first = 0;
    /* A region that is divided in another way: 2 + 3 threads. */
#pragma omp parallel for schedule(runtime) num_threads(5)
    for (int i = 0; i < ROWS; i++)
        row(i, 1);
    memset(had, 0, sizeof had);
    if (!later) {
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < ROWS; i++) {
            row(i, STEPS);
            had[omp_get_thread_num()][0]++;
        }
    } else
#pragma omp parallel
    {
        int mine = 0;
#pragma omp for schedule(runtime)
        for (int i = 0; i < ROWS; i++) {
            row(i, STEPS);
            mine++;
        }
        had[omp_get_thread_num()][0] = mine;
    }
    for (int t = 0; t < omp_get_max_threads() / 2; t++)
        first += had[t][0];
    return abs(first - ROWS / 4 * 3);
}

static int chunks(void)
{
    static int by[ROWS];
    int cut = 0;
#pragma omp parallel for schedule(dynamic, CHUNK)
    for (int i = 0; i < ROWS; i++) {
        row(i, STEPS);
        by[i] = omp_get_thread_num();
    }
    for (int i = 0; i < ROWS; i++)
        cut += by[i] != by[i / CHUNK * CHUNK];
    return cut;
}

static int late(int who)
{
    int last = -1;
    done = 0;
#pragma omp parallel
    {
        int all = 0;
        while (omp_get_thread_num() == who && all < ROWS) {
#pragma omp atomic read
            all = done;
        }
#pragma omp for schedule(runtime) nowait lastprivate(last)
        for (int i = 0; i < ROWS; i++) {
            row(i, STEPS);
            last = i;
#pragma omp atomic
            done++;
        }
    }
    return last;
}

int main(int argc, char **argv)
{
    double sum = 0;
    const char *what = argc > 1 ? argv[1] : "laps";
    if (!strcmp(what, "given")) {
        int least[2] = {ROWS, ROWS};
        for (int i = 0; i < TRIES; i++) {
            int now = off_by(i % 2);
            least[i % 2] = now < least[i % 2] ? now : least[i % 2];
        }
        fprintf(stderr, "off by %d %d\n", least[0], least[1]);
    } else if (!strcmp(what, "late")) {
        printf("last %d", late(0));
        printf(" %d\n", late(1));
    } else if (!strcmp(what, "chunks")) {
        printf("cut %d\n", chunks());
    } else if (!strcmp(what, "unlike")) {
        for (int i = 0; i < atoi(argv[2]); i++)
            unlike(0);
        for (int i = 0; i < atoi(argv[3]); i++)
            unlike(1);
    } else {
        int laps = argc > 2 ? atoi(argv[2]) : 10;
        for (int i = 0; i < laps; i++)
            lap();
    }
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            sum += data[i][k];
    printf("%.6f\n", sum);
    return 0;
}
