/* What the kernels share: the form of their loops, their size, their clock, their checks and what they say.

   Forms. A kernel's work-sharing loops carry the clause SCHED; the same source is compiled three times:
     (nothing)         no schedule clause, as most programs are written
     -DFORM_RUNTIME    schedule(runtime)
     -DFORM_DYNAMIC    schedule(dynamic)

   Usage. NAME [S|A [LAPS]]: S is for tests, A for measurements. A lap is one execution of the kernel's parallel part.

   Output. Standard output holds results only, the same bytes for any number of threads and any schedule. Standard error
   gets one line of KEY=VALUE: kernel, form, size, threads, laps, and in seconds: seconds (all laps), first (the first
   lap), settled (median of the second half of the laps). Exit status 0: all checks held; 1: one did not; 2: usage. */
#ifndef KERNEL_H
#define KERNEL_H

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined FORM_RUNTIME
#define SCHED schedule(runtime)
#define FORM "runtime"
#elif defined FORM_DYNAMIC
#define SCHED schedule(dynamic)
#define FORM "dynamic"
#else
#define SCHED
#define FORM "none"
#endif

enum { KERNEL_LAPS = 10000 };

static struct {
    const char *name;
    char size;
    int laps; /* asked for */
    int done;
    int failed;
    double began;
    double lap[KERNEL_LAPS];
} kernel;

/* Reads the arguments; `small` and `large` are the numbers of laps of sizes S and A. Returns whether the size is A. */
static inline int kernel_begin(const char *name, int argc, char **argv, int small, int large)
{
    kernel.name = name;
    kernel.size = argc > 1 && strlen(argv[1]) == 1 ? argv[1][0] : argc > 1 ? '?' : 'S';
    kernel.laps = kernel.size == 'A' ? large : small;
    if (argc > 2)
        kernel.laps = atoi(argv[2]);
    if ((kernel.size != 'S' && kernel.size != 'A') || kernel.laps < 1 || kernel.laps > KERNEL_LAPS) {
        fprintf(stderr, "usage: %s [S|A [LAPS]], LAPS from 1 to %d\n", name, KERNEL_LAPS);
        exit(2);
    }
    printf("%s %c\n", name, kernel.size);
    return kernel.size == 'A';
}

/* Around each lap, outside of every parallel region. */
static inline void lap_begin(void)
{
    kernel.began = omp_get_wtime();
}

static inline void lap_end(void)
{
    kernel.lap[kernel.done++] = omp_get_wtime() - kernel.began;
}

static inline void kernel_check(int holds, const char *what)
{
    if (!holds) {
        printf("FAILED: %s\n", what);
        kernel.failed = 1;
    }
}

static inline int kernel_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Says how long it took; the program's exit status. */
static inline int kernel_end(void)
{
    double seconds = 0, first = kernel.lap[0];
    for (int i = 0; i < kernel.done; i++)
        seconds += kernel.lap[i];
    double *late = kernel.lap + kernel.done / 2;
    int count = kernel.done - kernel.done / 2;
    qsort(late, count, sizeof *late, kernel_order);
    double settled = 0.5 * (late[(count - 1) / 2] + late[count / 2]);
    printf("%s\n", kernel.failed ? "not verified" : "verified");
    fprintf(stderr, "kernel=%s form=%s size=%c threads=%d laps=%d seconds=%.6f first=%.6f settled=%.6f\n", kernel.name,
            FORM, kernel.size, omp_get_max_threads(), kernel.done, seconds, first, settled);
    return kernel.failed;
}

/* Numbers in [0, 1), the same on every machine. */
static inline double uniform(unsigned long long *seed)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* Memory for `count` things of `size` bytes, zeroed. */
static inline void *space(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) {
        fprintf(stderr, "kernel %s: no memory\n", kernel.name);
        exit(2);
    }
    return memory;
}

#endif
