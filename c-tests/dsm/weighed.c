/* Regions of different worth on several nodes: short ones, one whose threads write the same pages in turn, and one that
   only computes. */
#include <stdio.h>

#ifdef ALWAYS
enum { SHORT = 20, FIGHTS = 10, COMPUTES = 3 };
#else
enum { SHORT = 2000, FIGHTS = 300, COMPUTES = 20 };
#endif
enum { N = 1 << 15 };

static double table[512];
static long fought_for[N];

static void short_loop(int turn)
{
#pragma omp parallel for
    for (int i = 0; i < 512; i++)
        table[i] += i * turn;
}

/* Neighbours are on different nodes, so every page goes to and fro. */
static void fight(int turn)
{
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 40; k++)
            fought_for[i] = fought_for[i] * 3 + k + turn;
}

static double compute(void)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 1 << 18; i++) {
        double x = i * 1e-6;
        for (int k = 0; k < 30; k++)
            x = x * 0.5 + 1 / (1 + x * x);
        sum += (long)(x * 1000);
    }
    return sum;
}

int main(void)
{
    double sum = 0;
    for (int turn = 0; turn < SHORT; turn++)
        short_loop(turn);
    for (int turn = 0; turn < FIGHTS; turn++)
        fight(turn);
    for (int turn = 0; turn < COMPUTES; turn++)
        sum += compute();
    long all = 0;
    for (int i = 0; i < N; i++)
        all ^= fought_for[i] + i;
    printf("%.0f %ld %.0f\n", table[511], all, sum);
    return 0;
}
