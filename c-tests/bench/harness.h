// What every microbenchmark of this folder shares: the delay that stands for
// work, the clock, and a main that measures one table of rows.
//
// A row is an OpenMP construct executed `n` times around a short delay, compared with
// a reference that does the same delays without OpenMP. Its result is
//     (time of the construct - time of the reference) / n
// which is how the EPCC microbenchmarks define overhead. Test and reference
// alternate within a row, and the median of the differences is reported, so
// that a change of clock speed or a stolen time slice hits both or is dropped.
#ifndef HETMP_BENCH_HARNESS_H
#define HETMP_BENCH_HARNESS_H

#include <stddef.h>

struct bench_row;
typedef void bench_body(long n, const struct bench_row *row);

// Who executes the reference's work when a team runs the construct.
enum bench_share {
    // Every thread does it, each for itself: with more threads than cores the
    // reference is multiplied by threads per core, since no runtime can avoid
    // that time.
    EACH_THREAD = 0,
    // It is done once, by whichever thread comes first or in turns.
    ONE_THREAD,
};

struct bench_row {
    const char *name;
    bench_body *test;
    // NULL: nothing is subtracted.
    bench_body *reference;
    enum bench_share share;
    // Free for the row: a chunk size, an array length.
    int arg;
    // One execution is long (a whole program): n may be 1. Otherwise n is a
    // multiple of the number of threads, for rows that divide it.
    int whole;
    // Called once before the row is measured; NULL: nothing to prepare.
    void (*prepare)(const struct bench_row *row);
    // "us" where NULL.
    const char *unit;
};

// Length of one delay in loop turns; about 0.1 us. The same number is handed
// to both runtimes by the runner, so that both do the same work.
extern long bench_delay_length;
// Threads of an outermost region, and cores this process may use.
extern int bench_threads, bench_cores;

// Seconds on the monotonic clock.
double bench_now(void);

// `turns` dependent multiplications that the compiler cannot remove, merge or
// vectorise: a few cycles each, no memory touched.
static inline void bench_spin(long turns)
{
    unsigned long x = (unsigned long)turns;
    for (long i = 0; i < turns; i++) {
        x = x * 2862933555777941757UL + 3037000493UL;
        __asm__ volatile("" : "+r"(x));
    }
}

static inline void bench_delay(void) { bench_spin(bench_delay_length); }

// The usual reference: n delays one after the other.
void bench_delays(long n, const struct bench_row *row);

// Measures turns of bench_spin that take `seconds`.
long bench_calibrate(double seconds);

// Parses the command line (--list, --row NAME, --ms N, --delay N, --limit S)
// and prints one JSON line per measured row.
int bench_main(int argc, char **argv, const struct bench_row *rows, size_t count);

#endif
