/* Nonblocking collectives in the manner of NBCBench: blocking latency, overlap with a calibrated work loop, and processor time
 * for each operation. One source: with hetmp's goal.h, or with -DUSE_MPI for an MPI.
 *
 * goal_bench MS [ROW [BYTES]]: each row takes some MS milliseconds. Rank 0 prints `ROW BYTES LATENCY OVERLAP CPU BEGIN
 * APART` (us, 0..1, us, us, us):
 *   latency  of the blocking collective, its mean
 *   apart    of the nonblocking one, begun and waited for at once, its mean
 *   overlap  the loop begins the collective, computes twice as long as that takes (at least WORK), and waits, without a
 *            test in between: 1 - (whole - work) / apart, cut to 0..1. `work` is what the computation alone takes in the
 *            same processes just before and just after: where processes share a processor, that is several times its
 *            processor time
 *   cpu      processor time for one operation of that loop, less that of the computation alone: of all threads of all ranks,
 *            of hetmp's helper processes (adapters, and those of the engine `kernel`), and of the system's threads for soft
 *            interrupts. Linux counts a soft interrupt for the thread that it interrupts, so those are in; one that comes
 *            while a processor has nothing to do is not
 *   begin    time of the call that begins the collective in that loop, its mean at rank 0
 *
 * The work is counted in turns of a loop, so that a helper's thread that takes the core does not look like communication
 * hidden. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* True if the process has this word in its command line, or, for a thread of the system, in its name. */
static int has_word(const char *process, const char *file, const char *word)
{
    char path[300], text[600];
    FILE *f;
    size_t n = 0, i;
    snprintf(path, sizeof path, "/proc/%.20s/%s", process, file);
    f = fopen(path, "r");
    if (f) {
        n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
    }
    text[n] = 0;
    for (i = 0; i < n; i++)
        if (!text[i])
            text[i] = ' ';
    return strstr(text, word) != NULL;
}

/* Processor time of all threads of a process so far, us. */
static double of_process(const char *process)
{
    double ns = 0, one;
    char path[600];
    struct dirent *thread;
    DIR *threads;
    snprintf(path, sizeof path, "/proc/%.20s/task", process);
    threads = opendir(path);
    while (threads && (thread = readdir(threads))) {
        FILE *f;
        snprintf(path, sizeof path, "/proc/%.20s/task/%.20s/schedstat", process, thread->d_name);
        f = thread->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%lf", &one) == 1)
            ns += one;
        if (f)
            fclose(f);
    }
    if (threads)
        closedir(threads);
    return ns / 1e3;
}

/* Processor time so far of this process; at rank 0 of the helpers and of the soft interrupts' threads as well. All ranks are
 * on one machine. */
static double spent(void)
{
    double all = clock_us(CLOCK_PROCESS_CPUTIME_ID);
    DIR *processes = me == 0 ? opendir("/proc") : NULL;
    struct dirent *p;
    while (processes && (p = readdir(processes))) {
        if (p->d_name[0] < '0' || p->d_name[0] > '9')
            continue;
        if (has_word(p->d_name, "comm", "ksoftirqd/"))
            all += of_process(p->d_name);
#ifndef USE_MPI
        if (has_word(p->d_name, "cmdline", "goal nic-adapter") || has_word(p->d_name, "cmdline", "goal kernel-engine"))
            all += of_process(p->d_name);
#endif
    }
    if (processes)
        closedir(processes);
    return all;
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

/* The computation alone, `n` times: what one takes, and what all ranks spend, us. */
static double alone(int n, double us, double *cpu)
{
    double from;
    int i;
    barrier();
    *cpu = spent();
    from = now();
    for (i = 0; i < n; i++)
        work(us);
    from = (now() - from) / n;
    *cpu = spent() - *cpu;
    return from;
}

/* The nonblocking collective, `n` times begun and waited for at once: what one takes, us, the same number at all ranks. */
static double at_once(int what, int bytes, int n)
{
    double from;
    int i;
    barrier();
    from = now();
    for (i = 0; i < n; i++) {
        handle h;
        begin(what, bytes, &h);
        finish(&h);
    }
    return most((now() - from) / n);
}

static void row(int what, int bytes, double ms)
{
    int i, n;
    double latency, apart, us, whole, cpu, from, begun = 0, before, after, cpu_before, cpu_after, plain;
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

    apart = at_once(what, bytes, 50);
    apart = at_once(what, bytes, (int)(ms * 1e3 / 4 / apart) + 10);

    us = 2 * apart > WORK ? 2 * apart : WORK;
    n = (int)(ms * 1e3 / 2 / (us + apart)) + 10;
    before = alone(n / 2, us, &cpu_before);
    barrier();
    cpu = spent();
    from = now();
    for (i = 0; i < n; i++) {
        handle h;
        double at = now();
        begin(what, bytes, &h);
        begun += now() - at;
        work(us);
        finish(&h);
    }
    whole = (now() - from) / n;
    cpu = spent() - cpu;
    after = alone(n - n / 2, us, &cpu_after);
    plain = most((before + after) / 2);
    whole = most(whole);
    cpu = total(cpu - cpu_before - cpu_after);
    if (me == 0) {
        double hidden = 1 - (whole - plain) / apart;
        hidden = hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
        printf("%s %d %.3f %.3f %.3f %.3f %.3f\n", names[what], bytes, latency, hidden, cpu / n, begun / n, apart);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 64, 512, 4096, 16384, 65536};
    double ms = argc > 1 ? atof(argv[1]) : 20;
    const char *only = argc > 2 ? argv[2] : "all";
    int most_bytes = argc > 3 ? atoi(argv[3]) : 65536, what;
    size_t i;
    start(argc, argv);
    give = calloc(all, 65536);
    get = calloc(all, 65536);
    if (!give || !get)
        return 1;
    calibrate();
    for (what = BARRIER; what <= BROADCAST; what++) {
        if (strcmp(only, "all") != 0 && strcmp(only, names[what]) != 0)
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
