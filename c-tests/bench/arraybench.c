// Overhead of the data clauses for arrays of 1, 729 and 59049 doubles.
#include "harness.h"

#include <omp.h>

// The compiler must believe that the array is read and written.
static inline void touch(double *array) { __asm__ volatile("" : : "r"(array) : "memory"); }

#define PRAGMA(TEXT) _Pragma(#TEXT)

#define ARRAYS(SIZE)                                                                               \
    static double shared_##SIZE[SIZE];                                                             \
    static double own_##SIZE[SIZE];                                                                \
    PRAGMA(omp threadprivate(own_##SIZE))                                                          \
                                                                                                   \
    static void private_##SIZE(long n, const struct bench_row *row)                                \
    {                                                                                              \
        (void)row;                                                                                 \
        double array[SIZE];                                                                        \
        touch(array);                                                                              \
        for (long j = 0; j < n; j++) {                                                             \
            _Pragma("omp parallel private(array)")                                                 \
            {                                                                                      \
                touch(array);                                                                      \
                bench_delay();                                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void firstprivate_##SIZE(long n, const struct bench_row *row)                           \
    {                                                                                              \
        (void)row;                                                                                 \
        double array[SIZE];                                                                        \
        for (int i = 0; i < SIZE; i++)                                                             \
            array[i] = i;                                                                          \
        touch(array);                                                                              \
        for (long j = 0; j < n; j++) {                                                             \
            _Pragma("omp parallel firstprivate(array)")                                            \
            {                                                                                      \
                touch(array);                                                                      \
                bench_delay();                                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void shared_array_##SIZE(long n, const struct bench_row *row)                           \
    {                                                                                              \
        (void)row;                                                                                 \
        for (long j = 0; j < n; j++) {                                                             \
            PRAGMA(omp parallel shared(shared_##SIZE))                                             \
            {                                                                                      \
                touch(shared_##SIZE);                                                              \
                bench_delay();                                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void copyin_##SIZE(long n, const struct bench_row *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        for (long j = 0; j < n; j++) {                                                             \
            PRAGMA(omp parallel copyin(own_##SIZE))                                                \
            {                                                                                      \
                touch(own_##SIZE);                                                                 \
                bench_delay();                                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void copyprivate_##SIZE(long n, const struct bench_row *row)                            \
    {                                                                                              \
        (void)row;                                                                                 \
        _Pragma("omp parallel")                                                                    \
        {                                                                                          \
            double array[SIZE];                                                                    \
            for (int i = 0; i < SIZE; i++)                                                         \
                array[i] = i;                                                                      \
            for (long j = 0; j < n; j++) {                                                         \
                _Pragma("omp single copyprivate(array)")                                           \
                {                                                                                  \
                    touch(array);                                                                  \
                    bench_delay();                                                                 \
                }                                                                                  \
                touch(array);                                                                      \
            }                                                                                      \
        }                                                                                          \
    }

ARRAYS(1)
ARRAYS(729)
ARRAYS(59049)

#define ROWS(SIZE)                                                                                 \
    {.name = "SHARED " #SIZE, .test = shared_array_##SIZE, .reference = bench_delays},             \
        {.name = "PRIVATE " #SIZE, .test = private_##SIZE, .reference = bench_delays},             \
        {.name = "FIRSTPRIVATE " #SIZE, .test = firstprivate_##SIZE, .reference = bench_delays},   \
        {.name = "COPYPRIVATE " #SIZE,                                                             \
         .test = copyprivate_##SIZE,                                                               \
         .reference = bench_delays,                                                                \
         .share = ONE_THREAD},                                                                     \
        {.name = "COPYIN " #SIZE, .test = copyin_##SIZE, .reference = bench_delays}

static const struct bench_row rows[] = {ROWS(1), ROWS(729), ROWS(59049)};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, sizeof rows / sizeof *rows);
}
