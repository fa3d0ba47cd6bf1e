// What the hardware allows: a cache line handed back and forth between two
// cores, and the same between two sleeping threads. No OpenMP.
//
// Prints one JSON line:
//   hop_ns    one way of the ping-pong, median of the windows
//   hop_min_ns, hop_max_ns   over the windows
//   wake_us   one way between threads that sleep in the kernel
//   delay_turns   turns of bench_spin in 0.1 us, which the runner hands to the
//                 microbenchmarks
#include "harness.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WINDOWS = 31, TRIPS = 20000, SLEEP_TRIPS = 2000 };

static int core[2];
static _Alignas(128) _Atomic int ball;
static _Alignas(128) _Atomic int sleepy_ball;

static void pin(int which)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core[which], &set);
    // Refused in some containers: the result is then the scheduler's choice.
    (void)sched_setaffinity(0, sizeof set, &set);
}

// The plain store and load of x86 are what a runtime's flag uses as well.
static void hit(int side)
{
    while (atomic_load_explicit(&ball, memory_order_acquire) != side)
        ;
    atomic_store_explicit(&ball, !side, memory_order_release);
}

static void sleepy_hit(int side)
{
    int value;
    while ((value = atomic_load(&sleepy_ball)) != side)
        syscall(SYS_futex, &sleepy_ball, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    atomic_store(&sleepy_ball, !side);
    syscall(SYS_futex, &sleepy_ball, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *partner(void *unused)
{
    (void)unused;
    pin(1);
    for (long i = 0; i < (long)WINDOWS * TRIPS; i++)
        hit(1);
    for (int i = 0; i < SLEEP_TRIPS; i++)
        sleepy_hit(1);
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    alarm(60);
    long turns = bench_calibrate(1e-7);

    cpu_set_t set;
    int found = 0;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (int c = 0; c < CPU_SETSIZE && found < 2; c++)
            if (CPU_ISSET(c, &set))
                core[found++] = c;
    if (found < 2) {
        // Nothing to bounce between; the runner shows no floor.
        printf("{\"hop_ns\":null,\"hop_min_ns\":null,\"hop_max_ns\":null,\"wake_us\":null,"
               "\"delay_turns\":%ld}\n",
               turns);
        return 0;
    }

    pthread_t thread;
    int error = pthread_create(&thread, NULL, partner, NULL);
    if (error) {
        fprintf(stderr, "hetmp: thread for the floor measurement %s: it must be creatable\n",
                strerror(error));
        return 1;
    }
    pin(0);
    double hop[WINDOWS];
    for (int w = 0; w < WINDOWS; w++) {
        double start = bench_now();
        for (int i = 0; i < TRIPS; i++)
            hit(0);
        hop[w] = 1e9 * (bench_now() - start) / (2.0 * TRIPS);
    }
    double start = bench_now();
    for (int i = 0; i < SLEEP_TRIPS; i++)
        sleepy_hit(0);
    double wake = 1e6 * (bench_now() - start) / (2.0 * SLEEP_TRIPS);
    pthread_join(thread, NULL);

    qsort(hop, WINDOWS, sizeof *hop, ascending);
    printf("{\"hop_ns\":%.1f,\"hop_min_ns\":%.1f,\"hop_max_ns\":%.1f,\"wake_us\":%.2f,"
           "\"delay_turns\":%ld}\n",
           hop[WINDOWS / 2], hop[0], hop[WINDOWS - 1], wake, turns);
    return 0;
}
