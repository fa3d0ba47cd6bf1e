/* Nonblocking collectives in the manner of NBCBench: blocking latency, overlap with a calibrated work loop, and processor time
 * for each operation. One source: with hetmp's goal.h, or with -DUSE_MPI for an MPI.
 *
 * goal_bench MS: each row takes some MS milliseconds. Rank 0 prints `ROW BYTES LATENCY OVERLAP CPU` (us, 0..1, us):
 *   latency  of the collective begun and waited for at once, its mean
 *   overlap  the loop computes as long as the collective takes (at least WORK), then begins it, computes, and waits, without
 *            a test in between: 1 - (whole - work) / latency, cut to 0..1
 *   cpu      processor time of all threads of all ranks and of the machine's soft interrupts for one operation of that loop,
 *            less the work itself
 *
 * The work is counted in processor time, so that a helper's thread that takes the core does not look like communication
 * hidden; what it costs shows in `cpu`. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* What an allreduce sums: integers where engines are measured that have no floating point. */
#ifdef INTEGERS
typedef int64_t number;
#define GOAL_NUMBER GOAL_SIGNED(64)
#define MPI_NUMBER MPI_INT64_T
#else
typedef double number;
#define GOAL_NUMBER GOAL_DOUBLE
#define MPI_NUMBER MPI_DOUBLE
#endif

#ifdef USE_MPI
#include <mpi.h>
typedef MPI_Request handle;
static int me, all;
static void start(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
}
static void ends(void) { MPI_Finalize(); }
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void ibarrier(handle *h) { MPI_Ibarrier(MPI_COMM_WORLD, h); }
static void allreduce(number *from, number *to, int n) { MPI_Allreduce(from, to, n, MPI_NUMBER, MPI_SUM, MPI_COMM_WORLD); }
static void iallreduce(number *from, number *to, int n, handle *h)
{
    MPI_Iallreduce(from, to, n, MPI_NUMBER, MPI_SUM, MPI_COMM_WORLD, h);
}
static void alltoall(char *from, char *to, int n)
{
    MPI_Alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, MPI_COMM_WORLD);
}
static void ialltoall(char *from, char *to, int n, handle *h)
{
    MPI_Ialltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, MPI_COMM_WORLD, h);
}
static void broadcast(char *at, int n) { MPI_Bcast(at, n, MPI_BYTE, 0, MPI_COMM_WORLD); }
static void ibroadcast(char *at, int n, handle *h) { MPI_Ibcast(at, n, MPI_BYTE, 0, MPI_COMM_WORLD, h); }
static void finish(handle *h) { MPI_Wait(h, MPI_STATUS_IGNORE); }
static double most(double x)
{
    double y = x;
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return y;
}
#else
#include <goal.h>
typedef GOAL_Handle handle;
static int me, all;
static void need(int code)
{
    char why[200] = "";
    if (code == GOAL_SUCCESS)
        return;
    GOAL_Last_error(why, sizeof why);
    fprintf(stderr, "goal_bench: %s\n", why);
    exit(1);
}
static void start(int argc, char **argv)
{
    (void)argc, (void)argv;
    need(GOAL_Init());
    need(GOAL_Rank(&me));
    need(GOAL_Size(&all));
}
static void ends(void) { need(GOAL_Finalize()); }
static void barrier(void) { need(goal_barrier()); }
static void ibarrier(handle *h) { need(goal_ibarrier(h)); }
static void allreduce(number *from, number *to, int n) { need(goal_allreduce(from, to, n, GOAL_NUMBER, GOAL_ADD)); }
static void iallreduce(number *from, number *to, int n, handle *h)
{
    need(goal_iallreduce(from, to, n, GOAL_NUMBER, GOAL_ADD, h));
}
static void alltoall(char *from, char *to, int n) { need(goal_alltoall(from, to, n)); }
static void ialltoall(char *from, char *to, int n, handle *h) { need(goal_ialltoall(from, to, n, h)); }
static void broadcast(char *at, int n) { need(goal_broadcast(at, at, n, 0)); }
static void ibroadcast(char *at, int n, handle *h) { need(goal_ibroadcast(at, at, n, 0, h)); }
static void finish(handle *h) { need(GOAL_Wait(h)); }
static double most(double x)
{
    double y = x;
    need(goal_allreduce(&x, &y, 1, GOAL_DOUBLE, GOAL_MAX));
    return y;
}
#endif

enum { BARRIER, ALLREDUCE, ALLTOALL, BROADCAST };
static const char *const names[] = {"barrier", "allreduce", "alltoall", "broadcast"};
/* The shortest work, us. */
#define WORK 20.0

static char *give, *get;

static void blocking(int what, int bytes)
{
    if (what == BARRIER)
        barrier();
    else if (what == ALLREDUCE)
        allreduce((number *)give, (number *)get, bytes / 8);
    else if (what == ALLTOALL)
        alltoall(give, get, bytes);
    else
        broadcast(get, bytes);
}

static void begin(int what, int bytes, handle *h)
{
    if (what == BARRIER)
        ibarrier(h);
    else if (what == ALLREDUCE)
        iallreduce((number *)give, (number *)get, bytes / 8, h);
    else if (what == ALLTOALL)
        ialltoall(give, get, bytes, h);
    else
        ibroadcast(get, bytes, h);
}

static double clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double now(void) { return clock_us(CLOCK_MONOTONIC); }

static double turns_a_us;
static volatile uint64_t sink;

static void work(double us)
{
    uint64_t n = (uint64_t)(us * turns_a_us), x = sink | 1;
    while (n--)
        x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

static void calibrate(void)
{
    int i;
    turns_a_us = 100;
    for (i = 0; i < 8; i++) {
        double from = clock_us(CLOCK_THREAD_CPUTIME_ID), us;
        work(2000);
        us = clock_us(CLOCK_THREAD_CPUTIME_ID) - from;
        turns_a_us *= 2000 / us;
    }
}

/* Time of soft interrupts of the machine so far, us. */
static double softirq(void)
{
    double n[7] = {0};
    FILE *f = fopen("/proc/stat", "r");
    if (f) {
        if (fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf", n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6) != 7)
            n[6] = 0;
        fclose(f);
    }
    return n[6] * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

static double total(double x)
{
#ifdef USE_MPI
    double y = x;
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#else
    double y = x;
    need(goal_allreduce(&x, &y, 1, GOAL_DOUBLE, GOAL_ADD));
#endif
    return y;
}

static void row(int what, int bytes, double ms)
{
    int i, n;
    double latency, us, whole, cpu, soft, from;
    for (i = 0; i < 50; i++)
        blocking(what, bytes);
    from = now();
    for (i = 0; i < 50; i++)
        blocking(what, bytes);
    latency = most((now() - from) / 50);
    n = (int)(ms * 1e3 / 2 / latency) + 10;
    barrier();
    from = now();
    for (i = 0; i < n; i++)
        blocking(what, bytes);
    latency = most((now() - from) / n);

    us = latency > WORK ? latency : WORK;
    n = (int)(ms * 1e3 / 2 / (us + latency)) + 10;
    barrier();
    soft = softirq();
    cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    from = now();
    for (i = 0; i < n; i++) {
        handle h;
        begin(what, bytes, &h);
        work(us);
        finish(&h);
    }
    whole = most((now() - from) / n);
    cpu = total(clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu) + softirq() - soft;
    if (me == 0) {
        double hidden = 1 - (whole - us) / latency;
        hidden = hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
        printf("%s %d %.3f %.3f %.3f\n", names[what], bytes, latency, hidden, cpu / n - us * all);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 64, 512, 4096, 16384, 65536};
    double ms = argc > 1 ? atof(argv[1]) : 20;
    const char *only = argc > 2 ? argv[2] : "";
    int most_bytes = argc > 3 ? atoi(argv[3]) : 65536, what;
    size_t i;
    start(argc, argv);
    give = calloc(all, 65536);
    get = calloc(all, 65536);
    if (!give || !get)
        return 1;
    calibrate();
    for (what = BARRIER; what <= BROADCAST; what++) {
        if (*only && strcmp(only, names[what]) != 0)
            continue;
        if (what == BARRIER) {
            row(what, 0, ms);
            continue;
        }
        for (i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most_bytes; i++)
            row(what, sizes[i], ms);
    }
    ends();
    return 0;
}
