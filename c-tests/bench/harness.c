// The main program of the microbenchmarks; see harness.h.
#define _GNU_SOURCE
#include "harness.h"

#include <dlfcn.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

long bench_delay_length = 0;
int bench_threads = 1, bench_cores = 1;

enum { MAX_REPS = 9, MIN_REPS = 3 };

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_delays(long n, const struct bench_row *row)
{
    (void)row;
    for (long i = 0; i < n; i++)
        bench_delay();
}

long bench_calibrate(double seconds)
{
    // The fastest of several tries: an interrupted one only looks slower.
    const long turns = 200000;
    double best = 1e9;
    for (int i = 0; i < 15; i++) {
        double start = bench_now();
        bench_spin(turns);
        double took = bench_now() - start;
        if (took < best)
            best = took;
    }
    long length = (long)(seconds / (best / (double)turns) + 0.5);
    return length < 1 ? 1 : length;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static double timed(bench_body *body, long n, const struct bench_row *row)
{
    double start = bench_now();
    body(n, row);
    return bench_now() - start;
}

// The file that serves OpenMP calls in this process: the runner checks that a
// preload took effect, because two measurements of the same library look
// exactly like parity.
static const char *runtime_path(void)
{
    static char real[4096];
    Dl_info info;
    void *entry = dlsym(RTLD_DEFAULT, "GOMP_parallel");
    if (!entry || !dladdr(entry, &info) || !info.dli_fname || !realpath(info.dli_fname, real))
        return "unknown";
    return real;
}

static void measure(const struct bench_row *row, double seconds)
{
    if (row->prepare)
        row->prepare(row);

    // Thread creation and first-use initialisation are start-up costs, which
    // startup.c measures.
    const long step = row->whole ? 1 : bench_threads;
    row->test(step, row);

    long n = step;
    double slice = seconds / MAX_REPS, took;
    for (;;) {
        took = timed(row->test, n, row);
        // A single slow try may be a time slice given to somebody else, and
        // would end the search at an n that measures nothing.
        if (took >= 0.6 * slice) {
            double again = timed(row->test, n, row);
            if (again < took)
                took = again;
        }
        if (took >= 0.6 * slice || n > 50000000L)
            break;
        double grow = took > 0 ? slice / took : 8;
        if (grow > 8)
            grow = 8;
        else if (grow < 1.5)
            grow = 1.5;
        n = ((long)((double)n * grow) / step + 1) * step;
    }

    int reps = took > 0 ? (int)(2 * seconds / took) : MAX_REPS;
    if (reps > MAX_REPS)
        reps = MAX_REPS;
    if (reps < MIN_REPS)
        reps = MIN_REPS;

    double crowd = 1;
    if (row->share == EACH_THREAD && bench_threads > bench_cores)
        crowd = (double)bench_threads / bench_cores;

    double over[MAX_REPS], raw[MAX_REPS], ref[MAX_REPS];
    double scale = row->unit && !strcmp(row->unit, "ns") ? 1e9 : 1e6;
    for (int i = 0; i < reps; i++) {
        ref[i] = row->reference ? crowd * timed(row->reference, n, row) : 0;
        // Threads that fell asleep during the reference are woken outside the
        // measurement.
        row->test(step, row);
        raw[i] = timed(row->test, n, row);
        over[i] = scale * (raw[i] - ref[i]) / (double)n;
        raw[i] *= scale / (double)n;
        ref[i] *= scale / (double)n;
    }
    printf("{\"row\":\"%s\",\"unit\":\"%s\",\"value\":%.6g,\"raw\":%.6g,\"reference\":%.6g,"
           "\"n\":%ld,\"threads\":%d,\"runtime\":\"%s\"}\n",
           row->name, row->unit ? row->unit : "us", median(over, reps), median(raw, reps),
           median(ref, reps), n, bench_threads, runtime_path());
    fflush(stdout);
}

static int refuse(const char *what, const char *value, const char *accepted)
{
    fprintf(stderr, "hetmp: %s %s: %s\n", what, value, accepted);
    return 2;
}

int bench_main(int argc, char **argv, const struct bench_row *rows, size_t count)
{
    const char *only = NULL;
    double milliseconds = 30;
    int limit = 60;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list")) {
            for (size_t r = 0; r < count; r++)
                puts(rows[r].name);
            return 0;
        }
        if (i + 1 >= argc)
            return refuse("argument", argv[i],
                          "--list, --row NAME, --ms N, --delay TURNS or --limit SECONDS");
        char *value = argv[++i], *end = value;
        double number = strtod(value, &end);
        if (!strcmp(argv[i - 1], "--row"))
            only = value;
        else if (*end || number <= 0)
            return refuse(argv[i - 1], value, "a number above 0");
        else if (!strcmp(argv[i - 1], "--ms"))
            milliseconds = number;
        else if (!strcmp(argv[i - 1], "--delay"))
            bench_delay_length = (long)number;
        else if (!strcmp(argv[i - 1], "--limit"))
            limit = (int)number;
        else
            return refuse("argument", argv[i - 1],
                          "--list, --row NAME, --ms N, --delay TURNS or --limit SECONDS");
    }

    // A runtime that hangs must end the row, not the whole run.
    alarm((unsigned)limit);

    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        bench_cores = CPU_COUNT(&set);
    bench_threads = omp_get_max_threads();
    if (bench_delay_length == 0)
        bench_delay_length = bench_calibrate(1e-7);

    int found = 0;
    for (size_t r = 0; r < count; r++)
        if (!only || !strcmp(only, rows[r].name)) {
            found = 1;
            measure(&rows[r], 1e-3 * milliseconds);
        }
    return found ? 0 : refuse("--row", only, "a name that --list prints");
}
