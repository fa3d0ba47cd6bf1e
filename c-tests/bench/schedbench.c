// Overhead of one worksharing loop per schedule: 128 iterations of one delay
// per thread, so that handing out iterations dominates where it is not free.
#include "harness.h"

#include <omp.h>

enum { PER_THREAD = 128 };

static void loop_reference(long n, const struct bench_row *row)
{
    bench_delays(n * PER_THREAD, row);
}

// One function per schedule: the compiler chooses the runtime's entry from the
// clause, so the clause must be spelled out.
#define LOOP(NAME, TYPE, CLAUSES)                                                                  \
    static void NAME(long n, const struct bench_row *row)                                          \
    {                                                                                              \
        int chunk = row->arg;                                                                      \
        TYPE end = (TYPE)PER_THREAD * (TYPE)bench_threads;                                         \
        (void)chunk;                                                                               \
        _Pragma("omp parallel") for (long j = 0; j < n; j++)                                       \
        {                                                                                          \
            _Pragma(CLAUSES) for (TYPE i = 0; i < end; i++) bench_delay();                         \
        }                                                                                          \
    }

#define ORDERED_LOOP(NAME, CLAUSES)                                                                \
    static void NAME(long n, const struct bench_row *row)                                          \
    {                                                                                              \
        int chunk = row->arg;                                                                      \
        long end = (long)PER_THREAD;                                                               \
        (void)chunk;                                                                               \
        _Pragma("omp parallel") for (long j = 0; j < n; j++)                                       \
        {                                                                                          \
            _Pragma(CLAUSES) for (long i = 0; i < end; i++)                                        \
            {                                                                                      \
                _Pragma("omp ordered") bench_delay();                                              \
            }                                                                                      \
        }                                                                                          \
    }

typedef unsigned long long ull;

LOOP(inline_static, long, "omp for schedule(static)")
LOOP(runtime_loop, long, "omp for schedule(runtime)")
LOOP(dynamic_loop, long, "omp for schedule(dynamic, chunk)")
LOOP(guided_loop, long, "omp for schedule(guided, chunk)")
LOOP(monotonic_loop, long, "omp for schedule(monotonic : dynamic, chunk)")
LOOP(ull_runtime_loop, ull, "omp for schedule(runtime)")
LOOP(ull_dynamic_loop, ull, "omp for schedule(dynamic, chunk)")
LOOP(ull_guided_loop, ull, "omp for schedule(guided, chunk)")
ORDERED_LOOP(ordered_static, "omp for ordered schedule(static, chunk)")
ORDERED_LOOP(ordered_dynamic, "omp for ordered schedule(dynamic, chunk)")
ORDERED_LOOP(ordered_guided, "omp for ordered schedule(guided, chunk)")

// A team opened for one dynamic loop, as most programs write it.
static void parallel_dynamic(long n, const struct bench_row *row)
{
    int chunk = row->arg;
    long end = (long)PER_THREAD * bench_threads;
    for (long j = 0; j < n; j++) {
#pragma omp parallel for schedule(dynamic, chunk)
        for (long i = 0; i < end; i++)
            bench_delay();
    }
}

static void doacross(long n, const struct bench_row *row)
{
    (void)row;
    long end = PER_THREAD;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp for ordered(1) schedule(static, 1)
        for (long i = 0; i < end; i++) {
#pragma omp ordered depend(sink : i - 1)
            bench_delay();
#pragma omp ordered depend(source)
        }
    }
}

static void set_static(const struct bench_row *row)
{
    omp_set_schedule(omp_sched_static, row->arg);
}

static void set_dynamic(const struct bench_row *row)
{
    omp_set_schedule(omp_sched_dynamic, row->arg);
}

static void set_guided(const struct bench_row *row)
{
    omp_set_schedule(omp_sched_guided, row->arg);
}

static void set_auto(const struct bench_row *row)
{
    (void)row;
    omp_set_schedule(omp_sched_auto, 0);
}

#define EACH .reference = loop_reference
#define TURNS .reference = loop_reference, .share = ONE_THREAD

static const struct bench_row rows[] = {
    {.name = "STATIC INLINE", .test = inline_static, EACH},
    {.name = "STATIC", .test = runtime_loop, EACH, .prepare = set_static},
    {.name = "STATIC,1", .test = runtime_loop, EACH, .arg = 1, .prepare = set_static},
    {.name = "STATIC,8", .test = runtime_loop, EACH, .arg = 8, .prepare = set_static},
    {.name = "STATIC,64", .test = runtime_loop, EACH, .arg = 64, .prepare = set_static},
    {.name = "DYNAMIC,1", .test = dynamic_loop, EACH, .arg = 1},
    {.name = "DYNAMIC,8", .test = dynamic_loop, EACH, .arg = 8},
    {.name = "DYNAMIC,64", .test = dynamic_loop, EACH, .arg = 64},
    {.name = "MONOTONIC DYNAMIC,1", .test = monotonic_loop, EACH, .arg = 1},
    {.name = "MONOTONIC DYNAMIC,8", .test = monotonic_loop, EACH, .arg = 8},
    {.name = "GUIDED,1", .test = guided_loop, EACH, .arg = 1},
    {.name = "GUIDED,8", .test = guided_loop, EACH, .arg = 8},
    {.name = "RUNTIME DYNAMIC,1", .test = runtime_loop, EACH, .arg = 1, .prepare = set_dynamic},
    {.name = "RUNTIME GUIDED,1", .test = runtime_loop, EACH, .arg = 1, .prepare = set_guided},
    {.name = "RUNTIME AUTO", .test = runtime_loop, EACH, .prepare = set_auto},
    {.name = "ULL STATIC", .test = ull_runtime_loop, EACH, .prepare = set_static},
    {.name = "ULL DYNAMIC,1", .test = ull_dynamic_loop, EACH, .arg = 1},
    {.name = "ULL DYNAMIC,8", .test = ull_dynamic_loop, EACH, .arg = 8},
    {.name = "ULL GUIDED,1", .test = ull_guided_loop, EACH, .arg = 1},
    {.name = "PARALLEL FOR DYNAMIC,8", .test = parallel_dynamic, EACH, .arg = 8},
    {.name = "ORDERED STATIC,1", .test = ordered_static, TURNS, .arg = 1},
    {.name = "ORDERED DYNAMIC,1", .test = ordered_dynamic, TURNS, .arg = 1},
    {.name = "ORDERED GUIDED,1", .test = ordered_guided, TURNS, .arg = 1},
    {.name = "DOACROSS", .test = doacross, TURNS},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, sizeof rows / sizeof *rows);
}
