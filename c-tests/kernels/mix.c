/* One loop over iterations of two kinds that prefer different nodes: distances (as streamcluster; kernel mix_stream)
   and small dense systems (as bt; kernel mix_block). Each is a function with a parallel region of its own, which has
   one thread here: nested in the loop. Which node a kernel prefers is said by a node description with speeds by kernel
   name, mix-nodes.toml; without one both kinds cost about the same.
   Usage: mix [S|A [LAPS [IRREGULARITY [PHASES]]]]. The range is divided into PHASES (4) equal parts. With IRREGULARITY
   0 %, every other iteration is of the first kind everywhere: a regular loop. With 100 %, phases hold one kind only, in
   turns; in between, the share of the first kind is (50 + IRREGULARITY/2) % and (50 - IRREGULARITY/2) % in turns. What
   a probe of the first iterations says about the rest is worth less and less.
   All results are whole numbers or stored one by one, so that nothing depends on the order.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S 2 60
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { PARTS = 16, DIMENSIONS = 32, POINTS = 512, POINTS_A_PART = 96, M = 5, SYSTEMS_A_PART = 20 };

static float point[POINTS][DIMENSIONS];

static inline double stream_part(int iteration, int part)
{
    double sum = 0;
    const float *from = point[iteration % POINTS];
    for (int p = 0; p < POINTS_A_PART; p++) {
        const float *to = point[(iteration + part * POINTS_A_PART + p * 7) % POINTS];
        for (int d = 0; d < DIMENSIONS; d++)
            sum += (from[d] - to[d]) * (from[d] - to[d]);
    }
    return sum;
}

static inline double block_part(int iteration, int part)
{
    double sum = 0;
    for (int s = 0; s < SYSTEMS_A_PART; s++) {
        double a[M][M + 1];
        for (int r = 0; r < M; r++)
            for (int c = 0; c <= M; c++)
                a[r][c] = (r == c ? 9 : 0) + (iteration * 3 + part * 5 + s * 7 + r * c) % 8 * 0.25;
        for (int p = 0; p < M; p++)
            for (int r = 0; r < M; r++) {
                if (r == p)
                    continue;
                double f = a[r][p] / a[p][p];
                for (int c = p; c <= M; c++)
                    a[r][c] -= f * a[p][c];
            }
        for (int r = 0; r < M; r++)
            sum += (r + 1) * a[r][M] / a[r][r];
    }
    return sum;
}

static __attribute__((noinline)) double mix_stream(int iteration)
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int part = 0; part < PARTS; part++)
        sum += stream_part(iteration, part);
    return sum;
}

static __attribute__((noinline)) double mix_block(int iteration)
{
    double of[PARTS], sum = 0;
#pragma omp parallel for
    for (int part = 0; part < PARTS; part++)
        of[part] = block_part(iteration, part);
    for (int part = 0; part < PARTS; part++)
        sum += of[part];
    return sum;
}

/* Whether an iteration is of the first kind: spread evenly over its phase, by the phase's share of them. */
static int is_stream(int iteration, int n, int irregularity, int phases)
{
    int phase = (int)((long long)iteration * phases / n);
    long long percent2 = phase % 2 ? 100 - irregularity : 100 + irregularity;
    return (iteration + 1) * percent2 / 200 > iteration * percent2 / 200;
}

int main(int argc, char **argv)
{
    int large = kernel_begin("mix", argc, argv, 2, 4);
    int n = large ? 4000 : 200;
    int irregularity = argc > 3 ? atoi(argv[3]) : 50, phases = argc > 4 ? atoi(argv[4]) : 4;
    if (irregularity < 0 || irregularity > 100 || phases < 1 || phases > n) {
        fprintf(stderr, "usage: mix [S|A [LAPS [IRREGULARITY [PHASES]]]], 0 to 100 %%, at least 1 phase\n");
        return 2;
    }
    /* The kernels' own regions stay serial in the loop, whatever the environment says. */
    omp_set_max_active_levels(1);
    double *result = space(n, sizeof *result);
    char *stream = space(n, 1);
    unsigned long long seed = 47;
    for (int p = 0; p < POINTS; p++)
        for (int d = 0; d < DIMENSIONS; d++)
            point[p][d] = (float)(int)(uniform(&seed) * 64);
    for (int i = 0; i < n; i++)
        stream[i] = is_stream(i, n, irregularity, phases);

    for (int lap = 0; lap < kernel.laps; lap++) {
        memset(result, 0, n * sizeof *result);
        lap_begin();
#pragma omp parallel for SCHED
        for (int i = 0; i < n; i++)
            result[i] = stream[i] ? mix_stream(i) : mix_block(i);
        lap_end();
    }

    double sum = 0;
    int same = 1, streams = 0;
    for (int i = 0; i < n; i++) {
        double serial = 0;
        for (int part = 0; part < PARTS; part++)
            serial += stream[i] ? stream_part(i, part) : block_part(i, part);
        same &= result[i] == serial;
        sum += result[i] / (stream[i] ? 1000 : 1);
        streams += stream[i];
    }
    kernel_check(same, "results equal those computed serially");
    printf("irregularity %d phases %d: %d of %d iterations of the first kind\nsum %.9e\n", irregularity, phases,
           streams, n, sum);
    return kernel_end();
}
