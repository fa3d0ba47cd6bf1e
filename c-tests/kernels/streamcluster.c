/* Facility location by local search over weighted points: for candidate after candidate, one short parallel loop over
   all points says what opening a centre there would gain; the few that gain are opened. Hundreds of short regions, much
   reading a result: the loop that memory decides.
   Coordinates and weights are whole numbers, so that all sums are exact and nothing depends on their order.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"

enum { DIMENSIONS = 48, CANDIDATES = 24 };

static int n;
static float (*point)[DIMENSIONS];
static double *weight, *cost, *difference;
static int *centre;

static inline double distance(int a, int b)
{
    double sum = 0;
    for (int d = 0; d < DIMENSIONS; d++) {
        double x = point[a][d] - point[b][d];
        sum += x * x;
    }
    return sum;
}

/* What the points near candidate x would save by it. */
static double gain(int x)
{
    double saved = 0;
#pragma omp parallel for SCHED reduction(+ : saved)
    for (int i = 0; i < n; i++) {
        difference[i] = weight[i] * distance(i, x) - cost[i];
        if (difference[i] < 0)
            saved -= difference[i];
    }
    return saved;
}

/* Points nearer to x than to their centre change over. */
static void open_centre(int x)
{
#pragma omp parallel for SCHED
    for (int i = 0; i < n; i++)
        if (difference[i] < 0) {
            cost[i] += difference[i];
            centre[i] = x;
        }
}

int main(int argc, char **argv)
{
    int large = kernel_begin("streamcluster", argc, argv, 4, 24);
    n = large ? 16384 : 1500;
    double fee = large ? 4e6 : 4e5;
    point = space(n, sizeof *point);
    weight = space(n, sizeof *weight);
    cost = space(n, sizeof *cost);
    difference = space(n, sizeof *difference);
    centre = space(n, sizeof *centre);
    unsigned long long seed = 43;
    for (int i = 0; i < n; i++) {
        int group = (int)(uniform(&seed) * 40);
        for (int d = 0; d < DIMENSIONS; d++)
            point[i][d] = (float)((group * 53 + d * 17) % 101 + (int)(uniform(&seed) * 16));
        weight[i] = 1 + (int)(uniform(&seed) * 3);
        cost[i] = weight[i] * distance(i, 0);
    }

    int opened = 1, tried = 0;
    double total = fee;
    for (int i = 0; i < n; i++)
        total += cost[i];
    for (int lap = 0; lap < kernel.laps; lap++) {
        lap_begin();
        for (int c = 0; c < CANDIDATES; c++, tried++) {
            int x = (int)(uniform(&seed) * n);
            double saved = gain(x);
            if (saved > fee) {
                open_centre(x);
                opened++;
                total += fee - saved;
            }
        }
        lap_end();
    }

    double sum = opened * fee;
    int same = 1;
    for (int i = 0; i < n; i++) {
        same &= cost[i] == weight[i] * distance(i, centre[i]);
        sum += cost[i];
    }
    kernel_check(same, "every point pays the way to its centre");
    kernel_check(sum == total, "what was gained adds up");
    kernel_check(opened > 1 && opened < tried, "some candidates are opened, and not all");
    printf("centres %d of %d cost %.0f\n", opened, tried, total);
    return kernel_end();
}
