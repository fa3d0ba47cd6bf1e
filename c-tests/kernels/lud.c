/* LU decomposition without pivots, by blocks: for each step along the diagonal its own block, then one parallel loop
   over the blocks next to and below it, then one over all blocks that remain. Two short regions a step, whose trip
   counts shrink from one to the next.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { B = 16 };

static int n;
static double *a;

static inline double *element(int row, int column)
{
    return a + (size_t)row * n + column;
}

static void diagonal(int at)
{
    for (int p = 0; p < B; p++)
        for (int r = p + 1; r < B; r++) {
            double f = *element(at + r, at + p) /= *element(at + p, at + p);
            for (int c = p + 1; c < B; c++)
                *element(at + r, at + c) -= f * *element(at + p, at + c);
        }
}

/* Block `b` right of the diagonal one: solved with its lower part; and the one below it, with its upper part. */
static inline void perimeter(int at, int b)
{
    int away = at + (b + 1) * B;
    for (int p = 0; p < B; p++)
        for (int r = p + 1; r < B; r++)
            for (int c = 0; c < B; c++)
                *element(at + r, away + c) -= *element(at + r, at + p) * *element(at + p, away + c);
    for (int r = 0; r < B; r++)
        for (int p = 0; p < B; p++) {
            double f = *element(away + r, at + p) /= *element(at + p, at + p);
            for (int c = p + 1; c < B; c++)
                *element(away + r, at + c) -= f * *element(at + p, at + c);
        }
}

static inline void interior(int at, int side, int b)
{
    int row = at + (b / side + 1) * B, column = at + (b % side + 1) * B;
    for (int r = 0; r < B; r++) {
        double sum[B] = {0};
        for (int p = 0; p < B; p++) {
            double f = *element(row + r, at + p);
            for (int c = 0; c < B; c++)
                sum[c] += f * *element(at + p, column + c);
        }
        for (int c = 0; c < B; c++)
            *element(row + r, column + c) -= sum[c];
    }
}

static void decompose(void)
{
    for (int at = 0; at < n - B; at += B) {
        int side = (n - at) / B - 1;
        diagonal(at);
#pragma omp parallel for SCHED
        for (int b = 0; b < side; b++)
            perimeter(at, b);
#pragma omp parallel for SCHED
        for (int b = 0; b < side * side; b++)
            interior(at, side, b);
    }
    diagonal(n - B);
}

static void serial_decompose(void)
{
    for (int at = 0; at < n - B; at += B) {
        int side = (n - at) / B - 1;
        diagonal(at);
        for (int b = 0; b < side; b++)
            perimeter(at, b);
        for (int b = 0; b < side * side; b++)
            interior(at, side, b);
    }
    diagonal(n - B);
}

int main(int argc, char **argv)
{
    int large = kernel_begin("lud", argc, argv, 3, 12);
    n = large ? 640 : 160;
    size_t bytes = (size_t)n * n * sizeof *a;
    double *original = space(1, bytes), *x = space(n, sizeof *x), *upper = space(n, sizeof *upper);
    a = space(1, bytes);
    unsigned long long seed = 41;
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++)
            original[(size_t)r * n + c] = uniform(&seed) - 0.5 + (r == c ? 0.5 * n : 0);

    for (int lap = 0; lap < kernel.laps; lap++) {
        memcpy(a, original, bytes);
        lap_begin();
        decompose();
        lap_end();
    }

    /* L (U x) = A x for some x. */
    double worst = 0, sum = 0;
    for (int c = 0; c < n; c++)
        x[c] = uniform(&seed);
    for (int r = 0; r < n; r++)
        for (int c = r; c < n; c++)
            upper[r] += *element(r, c) * x[c];
    for (int r = 0; r < n; r++) {
        double left = upper[r], right = 0;
        for (int c = 0; c < r; c++)
            left += *element(r, c) * upper[c];
        for (int c = 0; c < n; c++) {
            right += original[(size_t)r * n + c] * x[c];
            sum += *element(r, c) * (c + 1);
        }
        worst = fmax(worst, fabs(left - right));
    }
    kernel_check(worst < 1e-9 * n, "L times U is the matrix");
    double *parallel = a;
    a = original;
    serial_decompose();
    kernel_check(!memcmp(a, parallel, bytes), "equals the decomposition done serially");
    printf("sum %.9e\n", sum);
    return kernel_end();
}
