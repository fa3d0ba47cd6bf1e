// Short regions on a machine where something else is running. The runner
// starts busy processes next to this program.
//
// Each row repeats for a fixed time and reports the mean, since the rare long
// iterations are the point. `--serial` does the same work without OpenMP.
// Prints one JSON line per row, in microseconds per region.
#include "harness.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// 30 us of serial work, in pieces of about 0.5 us.
enum { PIECES = 60 };
// Steps of the factorisation-like row; step k works on what is left, in two
// halves with a barrier between them.
enum { STEPS = 16 };

static long piece_turns;
static int serial;

static void short_region(void)
{
    if (serial) {
        for (int i = 0; i < PIECES; i++)
            bench_spin(piece_turns);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int i = 0; i < PIECES; i++)
        bench_spin(piece_turns);
}

static void half_step(int left)
{
    if (serial) {
        for (int i = 0; i < left; i++)
            bench_spin(piece_turns);
        return;
    }
#pragma omp for schedule(static)
    for (int i = 0; i < left; i++)
        bench_spin(piece_turns);
}

// Like an LU factorisation: a region per step, a barrier inside, and less work
// in every step.
static void shrinking_regions(void)
{
    for (int k = 0; k < STEPS; k++) {
        int left = PIECES * (STEPS - k) / STEPS;
        if (serial) {
            half_step(left / 4);
            half_step(left);
            continue;
        }
#pragma omp parallel
        {
            half_step(left / 4);
            half_step(left);
        }
    }
}

// Many barriers in one region: what a solver with an iteration loop inside of
// its region does.
static void barriers(void)
{
    if (serial) {
        for (int k = 0; k < STEPS; k++)
            half_step(PIECES);
        return;
    }
#pragma omp parallel
    for (int k = 0; k < STEPS; k++)
        half_step(PIECES);
}

// Operations of a graph in each of its regions.
enum { NODES = 1000 };

// A chain of operations of very different length with a barrier after each, one
// region for the whole chain: how ggml, the engine of llama.cpp, computes a
// graph.
static void graph(void)
{
    // In tenths of a microsecond, for all threads together.
    static const int length[] = {20, 10, 200, 20, 10, 100, 20, 40};
    const int kinds = sizeof length / sizeof *length;
    // piece_turns are half a microsecond.
    if (serial) {
        for (int i = 0; i < NODES; i++)
            bench_spin(length[i % kinds] * piece_turns / 5);
        return;
    }
#pragma omp parallel
    {
        int me = omp_get_thread_num(), threads = omp_get_num_threads();
        for (int i = 0; i < NODES; i++) {
            long mine = length[i % kinds] * piece_turns / 5 / threads;
            // Parts are never quite equal.
            bench_spin((i + me) % 3 ? mine : mine + mine / 10);
#pragma omp barrier
        }
    }
}

// Regions that each thread of the next rows opens.
enum { REGIONS = 10, MOST_OPENERS = 100 };

static pthread_barrier_t all_begin;

static void *open_regions(void *unused)
{
    pthread_barrier_wait(&all_begin);
    for (int k = 0; k < REGIONS; k++) {
        if (serial) {
            bench_spin(2 * piece_turns);
            continue;
        }
#pragma omp parallel num_threads(2)
        bench_spin(piece_turns);
    }
    return unused;
}

// A server whose threads each compute in parallel: every thread opens regions at
// the same time, with a team of two of its own, and ends. The time contains the
// making of the threads and of their teams.
static void openers(int count)
{
    pthread_t opener[MOST_OPENERS];
    pthread_barrier_init(&all_begin, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        int error = pthread_create(&opener[i], NULL, open_regions, NULL);
        if (error) {
            fprintf(stderr, "hetmp: pthread_create: %s\n", strerror(error));
            exit(1);
        }
    }
    for (int i = 0; i < count; i++)
        pthread_join(opener[i], NULL);
    pthread_barrier_destroy(&all_begin);
}

static void openers_8(void) { openers(8); }
static void openers_32(void) { openers(32); }
static void openers_100(void) { openers(100); }

static void measure(const char *name, void (*body)(void), int regions, double seconds)
{
    body();
    double start = bench_now(), now;
    long count = 0;
    do {
        body();
        count++;
        now = bench_now();
    } while (now - start < seconds);
    printf("{\"row\":\"%s\",\"us\":%.4f}\n", name,
           1e6 * (now - start) / ((double)count * (double)regions));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    double milliseconds = 250;
    long delay = 0;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--serial")) {
            serial = 1;
            continue;
        }
        if (!strcmp(argv[i], "--row") && *value)
            only = value;
        else if (!strcmp(argv[i], "--ms") && atof(value) > 0)
            milliseconds = atof(value);
        else if (!strcmp(argv[i], "--delay") && atol(value) > 0)
            delay = atol(value);
        else {
            fprintf(stderr, "hetmp: argument %s %s: --serial, --row NAME, --ms N or --delay TURNS\n",
                    argv[i], value);
            return 2;
        }
        i++;
    }
    alarm(120);
    piece_turns = 5 * (delay ? delay : bench_calibrate(1e-7));

    static const struct {
        const char *name;
        void (*body)(void);
        int regions;
    } rows[] = {
        {"SHORT REGION 30us", short_region, 1},
        {"LU-LIKE REGIONS", shrinking_regions, STEPS},
        {"BARRIER PER 30us", barriers, STEPS},
        {"GRAPH OF 1000", graph, 1},
        {"8 PTHREADS", openers_8, 8 * REGIONS},
        {"32 PTHREADS", openers_32, 32 * REGIONS},
        {"100 PTHREADS", openers_100, 100 * REGIONS},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (!only || !strcmp(only, rows[r].name))
            measure(rows[r].name, rows[r].body, rows[r].regions, 1e-3 * milliseconds);
    return 0;
}
