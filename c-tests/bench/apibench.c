// Cost of the small omp_* calls, in ns per call, by one thread of a team while
// the others wait at the region's end, and outside of any region.
#include "harness.h"

#include <omp.h>

// An empty loop of the same shape: what is left is the call.
static void empty(long n, const struct bench_row *row)
{
    (void)row;
    for (long j = 0; j < n; j++)
        __asm__ volatile("" : : "r"(j));
}

// The result only has to be kept; a double travels in an SSE register.
#define CALL(NAME, EXPRESSION, REGISTER)                                                           \
    static void NAME##_calls(long n)                                                               \
    {                                                                                              \
        for (long j = 0; j < n; j++)                                                               \
            __asm__ volatile("" : : REGISTER(EXPRESSION));                                         \
    }                                                                                              \
    static void NAME##_serial(long n, const struct bench_row *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        NAME##_calls(n);                                                                           \
    }                                                                                              \
    static void NAME##_team(long n, const struct bench_row *row)                                   \
    {                                                                                              \
        (void)row;                                                                                 \
        _Pragma("omp parallel")                                                                    \
        {                                                                                          \
            _Pragma("omp master") NAME##_calls(n);                                                 \
        }                                                                                          \
    }

CALL(thread_num, omp_get_thread_num(), "r")
CALL(num_threads, omp_get_num_threads(), "r")
CALL(max_threads, omp_get_max_threads(), "r")
CALL(in_parallel, omp_in_parallel(), "r")
CALL(level, omp_get_level(), "r")
CALL(wtime, omp_get_wtime(), "x")

#define ROWS(NAME, FUNCTION)                                                                       \
    {.name = "omp_get_" FUNCTION " serial",                                                        \
     .test = NAME##_serial,                                                                        \
     .reference = empty,                                                                           \
     .share = ONE_THREAD,                                                                          \
     .unit = "ns"},                                                                                \
    {                                                                                              \
        .name = "omp_get_" FUNCTION " team", .test = NAME##_team, .reference = empty,              \
        .share = ONE_THREAD, .unit = "ns"                                                          \
    }

static const struct bench_row rows[] = {
    ROWS(thread_num, "thread_num"),
    ROWS(num_threads, "num_threads"),
    ROWS(max_threads, "max_threads"),
    ROWS(level, "level"),
    ROWS(wtime, "wtime"),
    {.name = "omp_in_parallel serial",
     .test = in_parallel_serial,
     .reference = empty,
     .share = ONE_THREAD,
     .unit = "ns"},
    {.name = "omp_in_parallel team",
     .test = in_parallel_team,
     .reference = empty,
     .share = ONE_THREAD,
     .unit = "ns"},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, sizeof rows / sizeof *rows);
}
