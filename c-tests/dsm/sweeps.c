/* A stencil, a region for each sweep and then a barrier for each: where two threads' rows meet, the same pages are read
   and written by both in turn, sweep after sweep. */
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 16, COLUMNS = 4096, SWEEPS = 60 };

static double (*now)[COLUMNS], (*next)[COLUMNS];

static void row(int i)
{
    for (int j = 1; j < COLUMNS - 1; j++)
        next[i][j] = (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]) / 4;
}

static void swap(void)
{
    double(*old)[COLUMNS] = now;
    now = next;
    next = old;
}

int main(void)
{
    now = aligned_alloc(4096, sizeof(double[ROWS][COLUMNS]));
    next = aligned_alloc(4096, sizeof(double[ROWS][COLUMNS]));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            now[i][j] = next[i][j] = (i * 7919 + j * 31) % 1009;
    for (int s = 0; s < SWEEPS; s++) {
#pragma omp parallel for schedule(static) num_threads(2)
        for (int i = 1; i < ROWS - 1; i++)
            row(i);
        swap();
    }
#pragma omp parallel num_threads(2)
    for (int s = 0; s < SWEEPS; s++) {
#pragma omp for schedule(static)
        for (int i = 1; i < ROWS - 1; i++)
            row(i);
#pragma omp single
        swap();
    }
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += now[i][j] * (1 + (i + j) % 3);
    printf("sum %.17g\n", sum);
    return 0;
}
