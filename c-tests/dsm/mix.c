/* A loop whose iterations are of two kinds, of which one takes three times as long, and whose mix changes with time: in
   one phase of laps the long kind is more frequent in the lower half of the range, in the next one in the upper half.
   Usage: mix [IRREGULARITY [PHASES [LAPS]]]. In the half where the long kind is more frequent, its share is (50 +
   IRREGULARITY/2) %, in the other half (50 - IRREGULARITY/2) %: with 0 the loop is regular, with 100 each half has one
   kind only. A phase has LAPS laps. Standard output: a sum that does not depend on who executed what. Standard error:
   seconds= of all laps but those of the first phase, in which schedules learn. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2048, COLUMNS = 64, STEPS = 250 };

static double data[ROWS][COLUMNS] __attribute__((aligned(4096)));

static void row(int i, int steps)
{
    double x = i * 1e-3;
    for (int k = 0; k < steps; k++)
        x = x * 0.5 + 1 / (1 + x * x);
    for (int k = 0; k < COLUMNS; k++)
        data[i][k] += x + k;
}

/* Whether iteration i is of the long kind where `share` in 100 are: scattered, the same each time. */
static int is_long(int i, int share)
{
    return (int)(i * 2654435761u >> 8) % 100 < share;
}

static void lap(int more, int less)
{
#pragma omp parallel for schedule(runtime)
    for (int i = 0; i < ROWS; i++)
        row(i, is_long(i, i < ROWS / 2 ? more : less) ? 3 * STEPS : STEPS);
}

int main(int argc, char **argv)
{
    int irregularity = argc > 1 ? atoi(argv[1]) : 60;
    int phases = argc > 2 ? atoi(argv[2]) : 6, laps = argc > 3 ? atoi(argv[3]) : 12;
    int more = 50 + irregularity / 2, less = 50 - irregularity / 2;
    double began = 0, sum = 0;
    if (irregularity < 0 || irregularity > 100 || phases < 2 || laps < 1) {
        fprintf(stderr, "usage: %s [IRREGULARITY [PHASES [LAPS]]], 0 to 100, from 2, from 1\n", argv[0]);
        return 2;
    }
    for (int phase = 0; phase < phases; phase++) {
        if (phase == 1)
            began = omp_get_wtime();
        for (int i = 0; i < laps; i++)
            phase % 2 ? lap(less, more) : lap(more, less);
    }
    fprintf(stderr, "seconds=%.6f\n", omp_get_wtime() - began);
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < COLUMNS; k++)
            sum += data[i][k];
    printf("%.6f\n", sum);
    return 0;
}
