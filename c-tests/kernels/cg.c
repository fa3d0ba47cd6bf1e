/* Conjugate gradients on a sparse symmetric matrix with scattered columns, as the inner part of an inverse power
   iteration: one parallel region a solution, with loops, reductions and barriers in it, hundreds of barriers in all.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { PAIRS = 32, ITERATIONS = 25 };

static int n, *first, *column;
static double *value, *x, *z, *p, *q, *r;
static double shared_d, shared_rho, shared_old; /* the region's scalars */

static inline double row(int j, const double *v)
{
    double sum = 0;
    for (int k = first[j]; k < first[j + 1]; k++)
        sum += value[k] * v[column[k]];
    return sum;
}

/* Element (i, j) off the diagonal: a number in (-1, 0) made of both indices. */
static double element(int i, int j)
{
    unsigned long long low = i < j ? i : j, high = i < j ? j : i;
    unsigned long long seed = low * 0x9e3779b97f4a7c15ull ^ high * 0xc2b2ae3d27d4eb4full;
    uniform(&seed);
    return -uniform(&seed);
}

/* Row j holds columns j +- offset for each of PAIRS offsets, around the end: symmetric. The diagonal dominates. */
static void make_matrix(void)
{
    int width = 2 * PAIRS + 1, offset[PAIRS];
    first = space(n + 1, sizeof *first);
    column = space((size_t)n * width, sizeof *column);
    value = space((size_t)n * width, sizeof *value);
    unsigned long long seed = 3;
    /* Different offsets below n / 2, so that no element is there twice. */
    for (int o = 0; o < PAIRS; o++)
        offset[o] = 1 + (int)((o + uniform(&seed)) * ((n - 1) / 2 - 1) / PAIRS);
    for (int j = 0, k = 0; j < n; j++) {
        double sum = 0;
        int diagonal = k++;
        for (int o = 0; o < PAIRS; o++)
            for (int sign = 0; sign < 2; sign++, k++) {
                column[k] = sign ? (j + offset[o]) % n : (j + n - offset[o]) % n;
                value[k] = element(j, column[k]);
                sum -= value[k];
            }
        column[diagonal] = j;
        value[diagonal] = sum + 0.05 + j % 7;
        first[j + 1] = k;
    }
}

/* z = (approximately) A^-1 x, in ITERATIONS steps. */
static void solve(void)
{
    shared_rho = 0;
#pragma omp parallel
    {
#pragma omp for SCHED reduction(+ : shared_rho)
        for (int j = 0; j < n; j++) {
            z[j] = 0;
            r[j] = p[j] = x[j];
            shared_rho += r[j] * r[j];
        }
        for (int iteration = 0; iteration < ITERATIONS; iteration++) {
#pragma omp single
            {
                shared_old = shared_rho;
                shared_rho = shared_d = 0;
            }
#pragma omp for SCHED
            for (int j = 0; j < n; j++)
                q[j] = row(j, p);
#pragma omp for SCHED reduction(+ : shared_d)
            for (int j = 0; j < n; j++)
                shared_d += p[j] * q[j];
            double alpha = shared_old / shared_d;
#pragma omp for SCHED reduction(+ : shared_rho)
            for (int j = 0; j < n; j++) {
                z[j] += alpha * p[j];
                r[j] -= alpha * q[j];
                shared_rho += r[j] * r[j];
            }
            double beta = shared_rho / shared_old;
#pragma omp for SCHED
            for (int j = 0; j < n; j++)
                p[j] = r[j] + beta * p[j];
        }
    }
}

int main(int argc, char **argv)
{
    int large = kernel_begin("cg", argc, argv, 4, 40);
    n = large ? 14000 : 700;
    make_matrix();
    x = space(n, sizeof *x);
    z = space(n, sizeof *z);
    p = space(n, sizeof *p);
    q = space(n, sizeof *q);
    r = space(n, sizeof *r);
    for (int j = 0; j < n; j++)
        x[j] = 1;

    double zeta = 0;
    int solved = 1;
    for (int lap = 0; lap < kernel.laps; lap++) {
        lap_begin();
        solve();
        lap_end();
        double xz = 0, zz = 0, left = 0, right = 0;
        for (int j = 0; j < n; j++) {
            double difference = x[j] - row(j, z);
            left += difference * difference;
            right += x[j] * x[j];
            xz += x[j] * z[j];
            zz += z[j] * z[j];
        }
        solved &= left <= 1e-16 * right;
        zeta = 1 / xz;
        for (int j = 0; j < n; j++)
            x[j] = z[j] / sqrt(zz);
    }
    kernel_check(solved, "A z = x");
    /* Rows sum to between 0.05 and 6.05, which bounds the eigenvalues of a dominated matrix from below; the iteration
       goes to the smallest one, at most the mean of the row sums. */
    if (kernel.laps > 1)
        kernel_check(zeta > 0.05 && zeta < 3.06, "an eigenvalue between its bounds");
    printf("zeta %.9e\n", zeta);
    return kernel_end();
}
