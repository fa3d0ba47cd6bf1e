/* What two nodes must be worth, by programs that differ in how their pages move. Usage: dsm_bars NAME [N [LAPS]]
     scattered N LAPS   each thread writes all over an array, a page at nearly each iteration: hopeless across nodes
     jacobi N LAPS      sweeps over N x N points, each of which reads its neighbours: rows at borders move
     cg N LAPS          conjugate gradients on a banded matrix of N rows: dot products, and vectors that both nodes read
     kmeans N LAPS      N points of 16 coordinates and 16 centres; sums by thread, added by the main thread
     anew N LAPS        the main thread writes an array of N numbers in each lap, and all threads read it
   Prints results that are the same for any number of threads to standard output, and seconds=S (all laps, without the
   start) to standard error. Exit status 2: usage. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(long n)
{
    double *a = malloc(n * sizeof *a);
    if (!a) {
        fprintf(stderr, "dsm_bars: no memory for %ld numbers\n", n);
        exit(1);
    }
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        a[i] = (double)(i % 1009) / 1009;
    return a;
}

static double scattered(long n, int laps)
{
    double *a = numbers(n), sum = 0;
    for (int lap = 0; lap < laps; lap++) {
#pragma omp parallel for schedule(runtime)
        for (long i = 0; i < n; i++) {
            long j = (i * 4097 + lap * 131071L) & (n - 1);
            a[j] = a[j] * 1.0000001 + 1;
        }
    }
    for (long i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

static double jacobi(long n, int laps)
{
    double *a = numbers(n * n), *b = numbers(n * n), sum = 0;
    for (int lap = 0; lap < laps; lap++) {
#pragma omp parallel for
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++)
                b[i * n + j] = 0.25 * (a[(i - 1) * n + j] + a[(i + 1) * n + j] + a[i * n + j - 1] + a[i * n + j + 1]);
        double *old = a;
        a = b;
        b = old;
    }
    for (long i = 0; i < n * n; i++)
        sum += a[i];
    return sum;
}

/* The matrix: 2 + 8 i on the diagonal's place, -1 at distances 1, 2, 7 and 64 from it. */
static double cg(long n, int laps)
{
    static const long bands[] = {1, 2, 7, 64};
    double *x = numbers(n), *r = numbers(n), *p = numbers(n), *q = numbers(n), rho = 0;
#pragma omp parallel for
    for (long i = 0; i < n; i++)
        x[i] = 0;
#pragma omp parallel for reduction(+ : rho)
    for (long i = 0; i < n; i++)
        rho += r[i] * r[i];
    for (int lap = 0; lap < laps; lap++) {
        double pq = 0, next = 0;
#pragma omp parallel for reduction(+ : pq)
        for (long i = 0; i < n; i++) {
            double sum = (9 + 0.1 * (double)(i % 7)) * p[i];
            for (int k = 0; k < 4; k++) {
                if (i >= bands[k])
                    sum -= p[i - bands[k]];
                if (i + bands[k] < n)
                    sum -= p[i + bands[k]];
            }
            q[i] = sum;
            pq += p[i] * sum;
        }
        double alpha = rho / pq;
#pragma omp parallel for reduction(+ : next)
        for (long i = 0; i < n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            next += r[i] * r[i];
        }
        double beta = next / rho;
        rho = next;
#pragma omp parallel for
        for (long i = 0; i < n; i++)
            p[i] = r[i] + beta * p[i];
    }
    double sum = 0;
    for (long i = 0; i < n; i++)
        sum += x[i];
    return round(sum * 1e3) / 1e3; /* sums in parallel differ in their last bits */
}

enum { COORDINATES = 16, CENTRES = 16, MOST_THREADS = 64 };

static double kmeans(long n, int laps)
{
    double *points = numbers(n * COORDINATES), centre[CENTRES][COORDINATES], result = 0;
    static double sums[MOST_THREADS][CENTRES][COORDINATES + 1];
    for (int c = 0; c < CENTRES; c++)
        memcpy(centre[c], points + c * (n / CENTRES) * COORDINATES, sizeof centre[c]);
    for (int lap = 0; lap < laps; lap++) {
        memset(sums, 0, sizeof sums);
#pragma omp parallel
        {
            double(*mine)[COORDINATES + 1] = sums[omp_get_thread_num() % MOST_THREADS];
#pragma omp for
            for (long i = 0; i < n; i++) {
                const double *point = points + i * COORDINATES;
                double least = HUGE_VAL;
                int nearest = 0;
                for (int c = 0; c < CENTRES; c++) {
                    double distance = 0;
                    for (int k = 0; k < COORDINATES; k++)
                        distance += (point[k] - centre[c][k]) * (point[k] - centre[c][k]);
                    if (distance < least)
                        least = distance, nearest = c;
                }
                for (int k = 0; k < COORDINATES; k++)
                    mine[nearest][k] += point[k];
                mine[nearest][COORDINATES]++;
            }
        }
        for (int c = 0; c < CENTRES; c++) {
            double count = 0;
            for (int t = 0; t < MOST_THREADS; t++)
                count += sums[t][c][COORDINATES];
            for (int k = 0; count > 0 && k < COORDINATES; k++) {
                double sum = 0;
                for (int t = 0; t < MOST_THREADS; t++)
                    sum += sums[t][c][k];
                centre[c][k] = round(sum / count * 1e9) / 1e9;
            }
        }
    }
    for (int c = 0; c < CENTRES; c++)
        for (int k = 0; k < COORDINATES; k++)
            result += centre[c][k];
    return result;
}

static double anew(long n, int laps)
{
    double *a = numbers(n), result = 0;
    for (int lap = 0; lap < laps; lap++) {
        double least = HUGE_VAL;
        for (long i = 0; i < n; i++)
            a[i] = (double)((i * 31 + lap) % 1009) + 1;
#pragma omp parallel for reduction(min : least)
        for (long i = 0; i < n; i++) {
            double there = sqrt(a[i]) + log(a[i]);
            least = there < least ? there : least;
        }
        result += least;
    }
    return result;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double (*run)(long n, int laps);
        long n;
        int laps;
    } programs[] = {
        {"scattered", scattered, 1 << 21, 40}, {"jacobi", jacobi, 256, 1000}, {"cg", cg, 1000000, 100},
        {"kmeans", kmeans, 200000, 20},        {"anew", anew, 1 << 20, 20},
    };
    for (size_t i = 0; argc > 1 && argc < 5 && i < sizeof programs / sizeof *programs; i++) {
        long n = argc > 2 ? atol(argv[2]) : programs[i].n;
        int laps = argc > 3 ? atoi(argv[3]) : programs[i].laps;
        if (strcmp(argv[1], programs[i].name) || n < CENTRES || laps < 1)
            continue;
        double began = omp_get_wtime(), result = programs[i].run(n, laps);
        printf("%s %ld %d: %.12g\n", argv[1], n, laps, result);
        fprintf(stderr, "seconds=%.6f\n", omp_get_wtime() - began);
        return 0;
    }
    fprintf(stderr, "usage: dsm_bars scattered|jacobi|cg|kmeans|anew [N [LAPS]]\n");
    return 2;
}
