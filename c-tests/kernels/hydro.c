/* Many short regions: a step of a hydrodynamics code with materials. Next to three passes over the whole mesh, each
   material has its own equation of state, a row of loops over the few elements that it has, one parallel region
   each; and the step's length is a least value that every thread keeps at its own number. A hundred regions a
   step, most of them of less than a microsecond's work.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { MATERIALS = 11 };

static int n;                /* elements */
static int from[MATERIALS + 1]; /* of each material's elements in `list` */
static int *list;
static double *e, *p, *q, *v, *work, *least;
static double dt;

/* The same in parallel and serially: `EACH` stands before each loop. */
#define STEP(NAME, EACH, LEAST)                                                                                       \
    static void NAME(void)                                                                                            \
    {                                                                                                                 \
        EACH for (int i = 0; i < n; i++) q[i] = 0.25 * fabs(v[i] - v[(i + 1) % n]);                                    \
        EACH for (int i = 0; i < n; i++) v[i] = 1 + 0.999 * (v[i] - 1) + dt * 0.01 * q[i];                             \
        for (int m = 0; m < MATERIALS; m++) {                                                                         \
            const int *mine = list + from[m];                                                                         \
            int count = from[m + 1] - from[m];                                                                        \
            double gamma = 1.1 + 0.05 * m;                                                                            \
            EACH for (int i = 0; i < count; i++) work[mine[i]] = e[mine[i]] - 0.5 * dt * (p[mine[i]] + q[mine[i]]);    \
            EACH for (int i = 0; i < count; i++) p[mine[i]] = (gamma - 1) * work[mine[i]] / v[mine[i]];                \
            EACH for (int i = 0; i < count; i++) if (p[mine[i]] < 1e-9) p[mine[i]] = 0;                                \
            EACH for (int i = 0; i < count; i++) work[mine[i]] -= 0.25 * dt * p[mine[i]];                              \
            EACH for (int i = 0; i < count; i++) q[mine[i]] = sqrt(fabs(gamma * p[mine[i]] * v[mine[i]]) + 1e-12);     \
            EACH for (int i = 0; i < count; i++) p[mine[i]] = (gamma - 1) * work[mine[i]] / v[mine[i]];                \
            EACH for (int i = 0; i < count; i++) if (work[mine[i]] < 1e-9) work[mine[i]] = 0;                          \
            EACH for (int i = 0; i < count; i++) e[mine[i]] = work[mine[i]];                                           \
            LEAST(mine, count);                                                                                       \
        }                                                                                                             \
        EACH for (int i = 0; i < n; i++) e[i] = 1 + 0.9995 * (e[i] - 1);                                               \
    }

#define PRAGMA(x) _Pragma(#x)
#define PARALLEL_FOR(...) PRAGMA(omp parallel for __VA_ARGS__)
#define NOTHING

static void least_parallel(const int *mine, int count)
{
    int threads = omp_get_max_threads();
    for (int t = 0; t < threads; t++)
        least[t] = 1e20;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        double mine_least = 1e20;
#pragma omp for SCHED
        for (int i = 0; i < count; i++)
            mine_least = fmin(mine_least, 0.5 / (1 + q[mine[i]]));
        least[me] = mine_least;
    }
    for (int t = 0; t < threads; t++)
        dt = fmin(dt, least[t]);
}

static void least_serial(const int *mine, int count)
{
    for (int i = 0; i < count; i++)
        dt = fmin(dt, 0.5 / (1 + q[mine[i]]));
}

STEP(step, PARALLEL_FOR(SCHED), least_parallel)
STEP(serial_step, NOTHING, least_serial)

int main(int argc, char **argv)
{
    int large = kernel_begin("hydro", argc, argv, 5, 300);
    n = large ? 1728 : 216;
    list = space((size_t)n, sizeof *list);
    e = space((size_t)n * 4, sizeof *e);
    p = e + n;
    q = p + n;
    v = q + n;
    work = space((size_t)n, sizeof *work);
    least = space((size_t)omp_get_max_threads(), sizeof *least);
    unsigned long long seed = 7;
    int *material = space((size_t)n, sizeof *material);
    for (int i = 0; i < n; i++) {
        /* The first materials have few elements. */
        material[i] = (int)(MATERIALS * sqrt(sqrt(uniform(&seed))));
        e[i] = 1 + uniform(&seed);
        v[i] = 0.8 + 0.4 * uniform(&seed);
    }
    for (int m = 0, at = 0; m < MATERIALS; m++) {
        for (int i = 0; i < n; i++)
            if (material[i] == m)
                list[at++] = i;
        from[m + 1] = at;
    }
    dt = 0.1;
    double *last = space((size_t)n * 4, sizeof *last), before = 0;
    for (int lap = 0; lap < kernel.laps; lap++) {
        memcpy(last, e, (size_t)n * 4 * sizeof *e);
        before = dt;
        lap_begin();
        step();
        lap_end();
    }
    double *parallel = space((size_t)n * 4, sizeof *parallel), after = dt;
    memcpy(parallel, e, (size_t)n * 4 * sizeof *e);
    memcpy(e, last, (size_t)n * 4 * sizeof *e);
    dt = before;
    serial_step();
    kernel_check(!memcmp(e, parallel, (size_t)n * 4 * sizeof *e), "the last step equals the same one done serially");
    kernel_check(after == dt, "so does the step's length");
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += e[i] + p[i];
    printf("step %.9e, sum %.9e\n", dt, sum);
    return kernel_end();
}
