// Overheads of regions, worksharing and mutual exclusion, per construct.
#define _GNU_SOURCE
#include "harness.h"

#include <omp.h>
#include <sched.h>

// Contended words have a cache line of their own: next to the delay's length,
// which every thread reads, the linker's layout would be measured.
static _Alignas(128) omp_lock_t lock;
static _Alignas(128) omp_nest_lock_t nest_lock;
static _Alignas(128) float atomic_float;
static _Alignas(128) long double atomic_wide;
static _Alignas(128) long reduced;
static int copied;
#pragma omp threadprivate(copied)

static void parallel(long n, const struct bench_row *row)
{
    (void)row;
    for (long j = 0; j < n; j++) {
#pragma omp parallel
        bench_delay();
    }
}

static void for_static(long n, const struct bench_row *row)
{
    (void)row;
    int threads = bench_threads;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp for schedule(static)
        for (int i = 0; i < threads; i++)
            bench_delay();
    }
}

static void parallel_for(long n, const struct bench_row *row)
{
    (void)row;
    int threads = bench_threads;
    for (long j = 0; j < n; j++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < threads; i++)
            bench_delay();
    }
}

static void barrier(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
        bench_delay();
#pragma omp barrier
    }
}

static void single(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp single
        bench_delay();
    }
}

static void single_nowait(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp single nowait
        bench_delay();
    }
}

static void single_copyprivate(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp single copyprivate(copied)
        {
            copied = (int)j;
            bench_delay();
        }
    }
}

static void critical(long n, const struct bench_row *row)
{
    (void)row;
    long each = n / bench_threads;
#pragma omp parallel
    for (long j = 0; j < each; j++) {
#pragma omp critical
        bench_delay();
    }
}

static void critical_named(long n, const struct bench_row *row)
{
    (void)row;
    long each = n / bench_threads;
#pragma omp parallel
    for (long j = 0; j < each; j++) {
#pragma omp critical(bench_named)
        bench_delay();
    }
}

static void make_locks(const struct bench_row *row)
{
    (void)row;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest_lock);
}

static void lock_unlock(long n, const struct bench_row *row)
{
    (void)row;
    long each = n / bench_threads;
#pragma omp parallel
    for (long j = 0; j < each; j++) {
        omp_set_lock(&lock);
        bench_delay();
        omp_unset_lock(&lock);
    }
}

static void nest_lock_unlock(long n, const struct bench_row *row)
{
    (void)row;
    long each = n / bench_threads;
#pragma omp parallel
    for (long j = 0; j < each; j++) {
        omp_set_nest_lock(&nest_lock);
        bench_delay();
        omp_unset_nest_lock(&nest_lock);
    }
}

// One thread, nobody else wants it: the cost of the fast path alone.
static void lock_uncontended(long n, const struct bench_row *row)
{
    (void)row;
    for (long j = 0; j < n; j++) {
        omp_set_lock(&lock);
        omp_unset_lock(&lock);
    }
}

static void ordered(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel for ordered schedule(static, 1)
    for (long j = 0; j < n; j++) {
#pragma omp ordered
        bench_delay();
    }
}

// The rows of atomics are about threads on different CPUs, who take a cache line
// from each other. Without this the kernel may keep two threads on one CPU for a
// whole row, under either runtime: a fifth of the time, and nothing of interest.
static void own_cpu(void)
{
    static _Thread_local int done;
    cpu_set_t all, mine;
    if (done++ || sched_getaffinity(0, sizeof all, &all))
        return;
    int left = omp_get_thread_num() % CPU_COUNT(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && !left--) {
            CPU_ZERO(&mine);
            CPU_SET(cpu, &mine);
            sched_setaffinity(0, sizeof mine, &mine);
        }
}

// Inline in the program, no call into the runtime: equal by construction, kept
// as a control row that shows the noise of the comparison.
static void atomic_inline(long n, const struct bench_row *row)
{
    (void)row;
    long each = n / bench_threads;
#pragma omp parallel
    {
        own_cpu();
        for (long j = 0; j < each; j++) {
#pragma omp atomic
            atomic_float += 1.0f;
        }
    }
}

// Too wide for an instruction: gcc asks the runtime for its lock. clang calls
// libatomic, so that this is a second control row.
static void atomic_runtime(long n, const struct bench_row *row)
{
    (void)row;
    long each = n / bench_threads;
#pragma omp parallel
    {
        own_cpu();
        for (long j = 0; j < each; j++) {
#pragma omp atomic
            atomic_wide += 1.0L;
        }
    }
}

#ifdef __clang__
// What objects of older compilers call for atomic constructs.
int __kmpc_global_thread_num(void *);
void __kmpc_atomic_fixed4_add(void *, int, int *, int);
void __kmpc_atomic_float8_max(void *, int, double *, double);
void __kmpc_atomic_float10_add(void *, int, long double *, long double);
static _Alignas(128) int atomic_int;
static _Alignas(128) double atomic_most;

#define ATOMIC_CALL(name, call)                               \
    static void name(long n, const struct bench_row *row)     \
    {                                                         \
        (void)row;                                            \
        long each = n / bench_threads;                        \
        _Pragma("omp parallel")                               \
        {                                                     \
            own_cpu();                                        \
            int gtid = __kmpc_global_thread_num(NULL);        \
            for (long j = 0; j < each; j++)                   \
                call;                                         \
        }                                                     \
    }
ATOMIC_CALL(atomic_call_add, __kmpc_atomic_fixed4_add(NULL, gtid, &atomic_int, 1))
ATOMIC_CALL(atomic_call_max, __kmpc_atomic_float8_max(NULL, gtid, &atomic_most, 1.0))
ATOMIC_CALL(atomic_call_wide, __kmpc_atomic_float10_add(NULL, gtid, &atomic_wide, 1.0L))
#endif

static void reduction(long n, const struct bench_row *row)
{
    (void)row;
    for (long j = 0; j < n; j++) {
        long sum = 0;
#pragma omp parallel reduction(+ : sum)
        {
            bench_delay();
            sum += 1;
        }
        reduced += sum;
    }
}

static void master_barrier(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp master
        bench_delay();
#pragma omp barrier
    }
}

static void sections(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel
    for (long j = 0; j < n; j++) {
#pragma omp sections
        {
#pragma omp section
            bench_delay();
#pragma omp section
            bench_delay();
        }
    }
}

static void two_levels(const struct bench_row *row)
{
    (void)row;
    omp_set_max_active_levels(2);
}

static void nested_parallel(long n, const struct bench_row *row)
{
    (void)row;
    for (long j = 0; j < n; j++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp parallel num_threads(2)
            bench_delay();
        }
    }
}

// The inner region alone, opened again and again by both outer threads.
static void nested_inner(long n, const struct bench_row *row)
{
    (void)row;
#pragma omp parallel num_threads(2)
    for (long j = 0; j < n; j++) {
#pragma omp parallel num_threads(2)
        bench_delay();
    }
}

static const struct bench_row rows[] = {
    {.name = "PARALLEL", .test = parallel, .reference = bench_delays},
    {.name = "FOR", .test = for_static, .reference = bench_delays},
    {.name = "PARALLEL FOR", .test = parallel_for, .reference = bench_delays},
    {.name = "BARRIER", .test = barrier, .reference = bench_delays},
    {.name = "SINGLE", .test = single, .reference = bench_delays, .share = ONE_THREAD},
    // Threads share the executions and nobody waits: nothing serial to subtract.
    {.name = "SINGLE NOWAIT", .test = single_nowait},
    {.name = "SINGLE COPYPRIVATE",
     .test = single_copyprivate,
     .reference = bench_delays,
     .share = ONE_THREAD},
    {.name = "CRITICAL", .test = critical, .reference = bench_delays, .share = ONE_THREAD},
    {.name = "CRITICAL NAMED", .test = critical_named, .reference = bench_delays, .share = ONE_THREAD},
    {.name = "LOCK/UNLOCK",
     .test = lock_unlock,
     .reference = bench_delays,
     .share = ONE_THREAD,
     .prepare = make_locks},
    {.name = "NEST LOCK/UNLOCK",
     .test = nest_lock_unlock,
     .reference = bench_delays,
     .share = ONE_THREAD,
     .prepare = make_locks},
    {.name = "LOCK UNCONTENDED", .test = lock_uncontended, .prepare = make_locks},
    {.name = "ORDERED", .test = ordered, .reference = bench_delays, .share = ONE_THREAD},
    {.name = "ATOMIC", .test = atomic_inline, .share = ONE_THREAD},
    {.name = "ATOMIC LONG DOUBLE", .test = atomic_runtime, .share = ONE_THREAD},
#ifdef __clang__
    {.name = "ATOMIC CALL ADD", .test = atomic_call_add, .share = ONE_THREAD},
    {.name = "ATOMIC CALL MAX", .test = atomic_call_max, .share = ONE_THREAD},
    {.name = "ATOMIC CALL LONG DOUBLE", .test = atomic_call_wide, .share = ONE_THREAD},
#endif
    {.name = "REDUCTION", .test = reduction, .reference = bench_delays},
    {.name = "MASTER+BARRIER", .test = master_barrier, .reference = bench_delays, .share = ONE_THREAD},
    {.name = "SECTIONS", .test = sections, .reference = bench_delays, .share = ONE_THREAD},
    {.name = "NESTED PARALLEL 2x2", .test = nested_parallel, .reference = bench_delays, .prepare = two_levels},
    {.name = "NESTED INNER 2x2", .test = nested_inner, .reference = bench_delays, .prepare = two_levels},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, sizeof rows / sizeof *rows);
}
