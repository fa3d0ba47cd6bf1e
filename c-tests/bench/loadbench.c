// Short regions on a machine where something else is running. The runner
// starts a busy process per core beside this program.
//
// Each row repeats for a fixed time and reports the mean, since the rare long
// iterations are the point. `--serial` does the same work without OpenMP.
// Prints one JSON line per row, in microseconds per region.
#include "harness.h"

#include <omp.h>
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
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        if (!only || !strcmp(only, rows[r].name))
            measure(rows[r].name, rows[r].body, rows[r].regions, 1e-3 * milliseconds);
    return 0;
}
