/* "Embarrassingly parallel": pairs of normal deviates by the polar method, counted by square rings. A block of pairs
   computes its place in the stream of random numbers by itself; sums and counts meet at the end, by a reduction and by
   atomic additions of what each thread counted.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { RINGS = 10, PAIRS = 512 };

static const unsigned long long FACTOR = 6364136223846793005ull, STEP = 1442695040888963407ull;

/* The generator `count` numbers after `seed`: the affine map, squared and multiplied. */
static unsigned long long skip(unsigned long long seed, unsigned long long count)
{
    unsigned long long factor = FACTOR, step = STEP;
    for (; count; count >>= 1) {
        if (count & 1)
            seed = seed * factor + step;
        step *= factor + 1;
        factor *= factor;
    }
    return seed;
}

/* One block's pairs: adds to the sums and the counts, returns how many pairs were accepted. */
static inline int block(int number, double *sum_x, double *sum_y, long long *count)
{
    unsigned long long seed = skip(271828183, 2ull * PAIRS * number);
    int accepted = 0;
    for (int i = 0; i < PAIRS; i++) {
        double x = 2 * uniform(&seed) - 1, y = 2 * uniform(&seed) - 1;
        double square = x * x + y * y;
        if (square > 1 || square == 0)
            continue;
        double scale = sqrt(-2 * log(square) / square);
        x *= scale;
        y *= scale;
        int ring = (int)fmax(fabs(x), fabs(y));
        count[ring < RINGS ? ring : RINGS - 1]++;
        *sum_x += x;
        *sum_y += y;
        accepted++;
    }
    return accepted;
}

int main(int argc, char **argv)
{
    int large = kernel_begin("ep", argc, argv, 3, 16);
    int blocks = large ? 4096 : 256;
    int *accepted = space(blocks, sizeof *accepted);
    double sum_x = 0, sum_y = 0;
    long long count[RINGS];

    for (int lap = 0; lap < kernel.laps; lap++) {
        sum_x = sum_y = 0;
        memset(count, 0, sizeof count);
        lap_begin();
#pragma omp parallel
        {
            long long own[RINGS] = {0};
#pragma omp for SCHED reduction(+ : sum_x, sum_y) nowait
            for (int b = 0; b < blocks; b++)
                accepted[b] = block(b, &sum_x, &sum_y, own);
            for (int r = 0; r < RINGS; r++) {
#pragma omp atomic
                count[r] += own[r];
            }
        }
        lap_end();
    }

    double serial_x = 0, serial_y = 0, pairs = (double)blocks * PAIRS;
    long long serial[RINGS] = {0}, total = 0;
    int same = 1;
    for (int b = 0; b < blocks; b++)
        same &= accepted[b] == block(b, &serial_x, &serial_y, serial);
    kernel_check(same, "accepted pairs of each block");
    kernel_check(!memcmp(count, serial, sizeof count), "counts of the rings");
    kernel_check(fabs(sum_x - serial_x) < 1e-8 && fabs(sum_y - serial_y) < 1e-8, "sums");
    for (int r = 0; r < RINGS; r++)
        total += count[r];
    /* Within six standard deviations: a disc in its square, and deviates of variance 1. */
    kernel_check(fabs(total - pairs * 0.7853981633974483) < 6 * sqrt(pairs * 0.1685), "rate of acceptance");
    kernel_check(fabs(sum_x) < 6 * sqrt(total) && fabs(sum_y) < 6 * sqrt(total), "means of the deviates");
    printf("pairs %lld sums %.6f %.6f\ncounts", total, sum_x, sum_y);
    for (int r = 0; r < RINGS; r++)
        printf(" %lld", count[r]);
    printf("\n");
    return kernel_end();
}
