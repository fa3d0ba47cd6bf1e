/* Pages that several threads write at the same time, each bytes of its own. Usage: lent [ROUNDS]
   Numbers by thread, neighbouring bytes, numbers that cross words, sums by thread, rows of a stencil within a page;
   each read by other threads after a barrier, in a critical section, and in the next region. Prints results that are
   the same for any run with as many threads. With -DTHREAD a thread of its own has run before: nothing is lent. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 16, ROWS = 32, COLUMNS = 61, BINS = 17 };

static struct __attribute__((packed)) {
    char mark;
    double value;
} packed[MOST * 8];
static double own[MOST], sums[MOST][BINS], grid[2][ROWS][COLUMNS], gathered[MOST], total, rare[MOST];
static unsigned char bytes[MOST * 3];
static int hits[MOST];
static float small[MOST * 2];

/* Numbers of each thread's own, for a long time without meeting another thread. */
static void apart(int rounds)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int r = 0; r < rounds; r++) {
            own[me] = own[me] * 0.999 + 1;
            bytes[me] += 7;
            bytes[me + all] += r;
            small[2 * me + r % 2] += 0.5f;
            for (int k = me; k < MOST * 8; k += all)
                packed[k].value += k + r;
        }
    }
}

/* What the neighbour wrote before the barrier, and again behind it. */
static void in_turn(int rounds)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), all = omp_get_num_threads();
        for (int r = 0; r < rounds; r++) {
            own[me] += 1;
            hits[me] += 3;
            bytes[me] += 1;
#pragma omp barrier
            gathered[(me + 1) % all] = gathered[(me + 1) % all] / 3 + own[(me + all - 1) % all] + bytes[(me + 1) % all];
#pragma omp barrier
            own[me] += gathered[me] / 1000;
        }
    }
}

static void partial_sums(int rounds)
{
    for (int r = 0; r < rounds; r++) {
#pragma omp parallel
        {
            double *mine = sums[omp_get_thread_num()];
#pragma omp for
            for (long i = 0; i < 4000; i++)
                mine[i * i % BINS] += (double)(i % 31 + r);
        }
        for (int t = 0; t < MOST; t++)
            for (int b = 0; b < BINS; b++) {
                total += sums[t][b];
                sums[t][b] = 0;
            }
    }
}

/* Rows that do not fill a page: threads' blocks meet within pages. */
static void stencil(int rounds)
{
    for (int r = 0; r < rounds; r++) {
        double(*from)[COLUMNS] = grid[r % 2], (*to)[COLUMNS] = grid[(r + 1) % 2];
#pragma omp parallel for
        for (int i = 1; i < ROWS - 1; i++)
            for (int j = 1; j < COLUMNS - 1; j++)
                to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) / 4;
    }
}

/* Sums that threads put together under a lock, next to numbers of their own. */
static void together(int rounds)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        for (int r = 0; r < rounds; r++) {
            rare[me] += r % 5;
#pragma omp critical
            total += 1;
            rare[me] += 1;
        }
    }
}

static void *nothing(void *unused)
{
    return unused;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
#ifdef THREAD
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) || pthread_join(thread, NULL))
        return 1;
#else
    nothing(NULL);
#endif
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            grid[0][i][j] = grid[1][i][j] = (i * 7919 + j * 31) % 1009;
    for (int k = 0; k < 12; k++) {
        apart(rounds * 2000);
        in_turn(rounds / 8);
        partial_sums(rounds / 20);
        stencil(rounds / 10);
        together(rounds / 20);
    }
    double points = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            points += grid[0][i][j] + 2 * grid[1][i][j];
    printf("%.17g %.17g\n", total, points);
    for (int t = 0; t < omp_get_max_threads() && t < MOST; t++)
        printf("%d: %.17g %.17g %d %d %g %.17g %.17g\n", t, own[t], gathered[t], hits[t], bytes[t], small[2 * t],
               rare[t], packed[8 * t + 3].value);
    for (int k = 0; k < MOST * 3; k++)
        printf("%d ", bytes[k]);
    printf("\n");
    return 0;
}
