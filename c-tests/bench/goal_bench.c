/* Nonblocking collectives in the manner of NBCBench: blocking latency, overlap with a calibrated work loop, and
 * processor time for each operation. One source: with hetmp's goal.h, or with -DUSE_MPI for an MPI.
 *
 * goal_bench MS [ROWS [BYTES [LEAST [WORK]]]]: each row takes some MS milliseconds; commas separate ROWS. Rank 0 prints
 * `ROW BYTES LATENCY OVERLAP CPU BEGIN APART POSSIBLE ADDED` (us, 0..1, us, us, us, 0..1, us):
 *   latency  of the blocking collective
 *   apart    of the nonblocking one, begun and waited for at once
 *   overlap  the loop begins the collective, computes twice as long as that takes (at least WORK, 20), and waits,
 *            without a test in between: 1 - (whole - work) / apart, cut to 0..1. `work` is what the computation alone
 *            takes in the same processes just before: where processes share a processor, that is several
 *            times its processor time. The two take turns, and the median of their differences counts. All times
 *            are medians of the means of eight turns (where ranks share processors, of a stretch),
 *            at the rank where they are longest: one rank that something else has stopped for a moment delays all
 *            others, and that is no part of a collective. What happens rarely, but to the collective itself, is in
 *            `cpu`
 *   cpu      processor time for one operation of that loop, less that of the computation alone: of all threads of all
 *            ranks, of hetmp's helper processes (adapters, and those of the engine `kernel`), and of the system's
 *            threads for soft interrupts. Linux counts a soft interrupt for the thread that it interrupts, so those are
 *            in; one that comes while a processor has nothing to do is not
 *   possible the overlap that this processor time allows while all processors compute: 1 - cpu / processors / apart,
 *   with as
 *            many processors as there are ranks at most
 *   added    whole - work: what the collective adds to the computation; both read the clock equally often
 *   begin    time of the call that begins the collective in that loop, its mean at rank 0
 *
 * The work is counted in turns of a loop, so that a helper's thread that takes the core does not look like
 * communication hidden. */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
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
static void allreduce(number *from, number *to, int n) {
    MPI_Allreduce(from, to, n, MPI_NUMBER, MPI_SUM, MPI_COMM_WORLD);
}
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
static void broadcast(char *at, int n, int root) { MPI_Bcast(at, n, MPI_BYTE, root, MPI_COMM_WORLD); }
static void ibroadcast(char *at, int n, int root, handle *h) { MPI_Ibcast(at, n, MPI_BYTE, root, MPI_COMM_WORLD, h); }
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
static void broadcast(char *at, int n, int root) { need(goal_broadcast(at, at, n, root)); }
static void ibroadcast(char *at, int n, int root, handle *h) { need(goal_ibroadcast(at, at, n, root, h)); }
static void finish(handle *h) { need(GOAL_Wait(h)); }
/* In whole nanoseconds: the engine `kernel` has no floating point, and the other engine's thread would be at work. */
static double combined(double us, int operation)
{
    int64_t x = (int64_t)(us * 1e3), y = x;
    need(goal_allreduce(&x, &y, 1, GOAL_LONG, operation));
    return (double)y / 1e3;
}
static double most(double us) { return combined(us, GOAL_MAX); }

#endif

/* BROADCAST has the same root always, who never waits for the others: many are under way at once, and its latency is
 * what a stream of them takes for each. In BROADCAST_TURNS the ranks are root in turns, as in the Intel MPI Benchmarks:
 * a root has received the one before, and the latency is that of a message. */
enum { BARRIER, ALLREDUCE, ALLTOALL, BROADCAST, BROADCAST_TURNS, SUM, GRAPH, ROWS };
static const char *const names[] = {"barrier", "allreduce", "alltoall", "broadcast", "broadcast-turns", "sum", "graph"};

/* SUM is an allreduce of one double. GRAPH is one of the program's own: in a ring, each rank gives a double to both
 * neighbours, adds the two that it gets, and passes the sum on to the next rank. No MPI has such a thing. */
#ifdef USE_MPI
#define HAS_GRAPH 0
static void sum(double *from, double *to) { MPI_Allreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void isum(double *from, double *to, handle *h)
{
    MPI_Iallreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, h);
}
static void make_graph(void) {}
static void run_graph(handle *h) { (void)h; }
#else
#define HAS_GRAPH 1
static void sum(double *from, double *to) { need(goal_allreduce(from, to, 1, GOAL_DOUBLE, GOAL_ADD)); }
static void isum(double *from, double *to, handle *h)
{
    need(goal_iallreduce(from, to, 1, GOAL_DOUBLE, GOAL_ADD, h));
}
static GOAL_Schedule schedule;
static double mine, of_left, of_right, passed;
static void make_graph(void)
{
    int left = (me + all - 1) % all, right = (me + 1) % all;
    GOAL_Op op, from_left, from_right, added;
    GOAL_Graph g;
    mine = me + 1;
    need(GOAL_Create(&g));
    need(GOAL_Send(g, &mine, GOAL_USERSPACE, sizeof mine, right, 1, NULL));
    need(GOAL_Send(g, &mine, GOAL_USERSPACE, sizeof mine, left, 2, NULL));
    need(GOAL_Recv(g, &of_left, GOAL_USERSPACE, sizeof mine, left, 1, &from_left));
    need(GOAL_Recv(g, &of_right, GOAL_USERSPACE, sizeof mine, right, 2, &from_right));
    need(GOAL_Local(g, GOAL_ADD, GOAL_DOUBLE, 1, &of_left, GOAL_USERSPACE, &of_right, GOAL_USERSPACE, &added));
    need(GOAL_Requires(g, added, from_left));
    need(GOAL_Requires(g, added, from_right));
    need(GOAL_Send(g, &of_left, GOAL_USERSPACE, sizeof mine, right, 3, &op));
    need(GOAL_Requires(g, op, added));
    need(GOAL_Recv(g, &passed, GOAL_USERSPACE, sizeof mine, left, 3, NULL));
    need(GOAL_Compile(g, &schedule));
    need(GOAL_Agree(schedule));
}
static void run_graph(handle *h) { need(GOAL_Run(schedule, h)); }
#endif

/* Whose turn it is to be root. All ranks call the same collectives, so all agree. */
static unsigned broadcasts;
static int root_of(int what) { return what == BROADCAST ? 0 : (int)(broadcasts++ % (unsigned)all); }

/* The shortest work, us. */
static double least_work = 20;

static char *give, *get;

static void blocking(int what, int bytes)
{
    if (what == BARRIER)
        barrier();
    else if (what == ALLREDUCE)
        allreduce((number *)give, (number *)get, bytes / 8);
    else if (what == ALLTOALL)
        alltoall(give, get, bytes);
    else if (what == SUM)
        sum((double *)give, (double *)get);
    else if (what == GRAPH) {
        handle h;
        run_graph(&h);
        finish(&h);
    } else
        broadcast(get, bytes, root_of(what));
}

static void begin(int what, int bytes, handle *h)
{
    if (what == BARRIER)
        ibarrier(h);
    else if (what == ALLREDUCE)
        iallreduce((number *)give, (number *)get, bytes / 8, h);
    else if (what == ALLTOALL)
        ialltoall(give, get, bytes, h);
    else if (what == SUM)
        isum((double *)give, (double *)get, h);
    else if (what == GRAPH)
        run_graph(h);
    else
        ibroadcast(get, bytes, root_of(what), h);
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

/* A host takes processors away now and then, and Linux counts that as the process's time: so the fastest try counts.
 * All ranks then work as long as the slowest needs. */
static void calibrate(void)
{
    int i;
    double best = 1e9;
    turns_a_us = 100;
    for (i = 0; i < 40; i++) {
        double from = clock_us(CLOCK_THREAD_CPUTIME_ID), us;
        work(500);
        us = clock_us(CLOCK_THREAD_CPUTIME_ID) - from;
        best = us < best ? us : best;
    }
    turns_a_us *= 500 / most(best);
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

/* The helpers and the soft interrupts' threads, found once by rank 0: all ranks are on one machine. */
static struct other {
    char process[24];
    double spent;
} others[256];
static int other_count;

static void find_others(void)
{
    DIR *processes = me == 0 ? opendir("/proc") : NULL;
    struct dirent *p;
    while (processes && (p = readdir(processes))) {
        int is_one = p->d_name[0] >= '0' && p->d_name[0] <= '9' && has_word(p->d_name, "comm", "ksoftirqd/");
#ifndef USE_MPI
        if (p->d_name[0] >= '0' && p->d_name[0] <= '9')
            is_one |= has_word(p->d_name, "cmdline", "goal nic-adapter") ||
                has_word(p->d_name, "comm", "hetmp-goal-kern");
#endif
        if (is_one && other_count < 256)
            snprintf(others[other_count++].process, sizeof others[0].process, "%.20s", p->d_name);
    }
    if (processes)
        closedir(processes);
}

/* Their processor time so far. Those of an earlier job may be among them, and end: their time stays what it was. */
static double of_others(void)
{
    double all = 0;
    int i;
    for (i = 0; i < other_count; i++) {
        double spent = of_process(others[i].process);
        if (spent > others[i].spent)
            others[i].spent = spent;
        all += others[i].spent;
    }
    return all;
}

/* A stretch of time that all ranks begin together. */
struct stretch {
    double cpu, others;
};

/* To read the helpers' times takes rank 0 a while. That belongs to no stretch, and the others must not be ahead by it.
   */
static void begin_stretch(struct stretch *s)
{
    s->others = of_others();
    barrier();
    barrier();
    s->cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

/* The processor time spent in it by this rank and, at rank 0, by helpers, us. */
static double end_stretch(const struct stretch *s)
{
    double cpu = clock_us(CLOCK_PROCESS_CPUTIME_ID) - s->cpu;
    return cpu + of_others() - s->others;
}

/* The times of a stretch's groups of turns, us for each turn, and the time when the last group ended. One turn alone
 * says little: where a rank is behind, its next turns find everything there. */
enum { GROUPS = 1 << 14, GROUP = 8 };
static double groups[GROUPS], group_ended;
static int group_count, turn_count, group;

/* Where ranks share processors, they take turns of milliseconds: then the `n` turns are one group. */
static void begin_turns(int n)
{
    group = sysconf(_SC_NPROCESSORS_ONLN) < all || n < GROUP ? n : GROUP;
    group_count = turn_count = 0;
    group_ended = now();
}

static void turn(void)
{
    double at;
    if (++turn_count % group != 0 || group_count == GROUPS)
        return;
    at = now();
    groups[group_count++] = (at - group_ended) / group;
    group_ended = at;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double middle(double *list, int n)
{
    qsort(list, (size_t)n, sizeof *list, by_size);
    return list[n / 2];
}

static double total(double x)
{
#ifdef USE_MPI
    double y = x;
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return y;
#else
    return combined(x, GOAL_ADD);
#endif
}

/* The collective, `n` times: the median of what one takes, us; the largest of all ranks, the same number at all. */
static double each(int what, int bytes, int n, int blocks)
{
    int i;
    barrier();
    barrier();
    begin_turns(n);
    for (i = 0; i < n; i++) {
        if (blocks) {
            blocking(what, bytes);
        } else {
            handle h;
            begin(what, bytes, &h);
            finish(&h);
        }
        turn();
    }
    return most(middle(groups, group_count));
}

static double size_of_job(void) { return all; }
static double cut(double share) { return share < 0 ? 0 : share > 1 ? 1 : share; }

/* How often the computation alone and the computation with collectives take turns. A machine's speed drifts, and
 * something else may take a core for a while: so a stretch is compared with its neighbour, and the middle of the
 * differences counts. */
enum { STRETCHES = 9 };

/* How many turns of `us` each a stretch of `ms` has: whole groups, and four at least. */
static int turns_in(double ms, double us)
{
    double n = ms * 1e3 / us;
    return n < 4 ? 4 : n < 2 * GROUP ? (int)n : (int)(n > 1e6 ? 1e6 : n) / GROUP * GROUP;
}

static void row(int what, int bytes, double ms)
{
    int i, n, at;
    struct stretch stretch;
    double latency, apart, us, cpu_plain, begun = 0, idle = 0, plain, lost[STRETCHES], spent[STRETCHES];
    latency = each(what, bytes, GROUP, 1);
    latency = each(what, bytes, turns_in(ms / 2, latency), 1);
    apart = each(what, bytes, GROUP, 0);
    apart = each(what, bytes, turns_in(ms / 4, apart), 0);

    us = 2 * apart > least_work ? 2 * apart : least_work;
    n = turns_in(ms / 2 / STRETCHES, us + apart);
    for (at = 0; at < STRETCHES; at++) {
        begin_stretch(&stretch);
        begin_turns(n);
        for (i = 0; i < n; i++) {
            double before = now();
            idle += now() - before;
            work(us);
            turn();
        }
        cpu_plain = end_stretch(&stretch);
        plain = most(middle(groups, group_count));
        begin_stretch(&stretch);
        begin_turns(n);
        for (i = 0; i < n; i++) {
            handle h;
            double before = now();
            begin(what, bytes, &h);
            begun += now() - before;
            work(us);
            finish(&h);
            turn();
        }
        spent[at] = total(end_stretch(&stretch) - cpu_plain) / n;
        lost[at] = most(middle(groups, group_count)) - plain;
    }
    if (me == 0) {
        double loss = middle(lost, STRETCHES), cost = middle(spent, STRETCHES), hidden = 1 - loss / apart, possible;
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        possible = 1 - cost / (cores < size_of_job() ? (double)cores : size_of_job()) / apart;
        printf("%s %d %.3f %.3f %.3f %.3f %.3f %.3f %.3f\n", names[what], bytes, latency, cut(hidden), cost,
               (begun - idle) / n / STRETCHES, apart, cut(possible), loss);
        fflush(stdout);
    }
}

/* Each rank has a processor of its own, or shares one with as many as the others do. With GOAL_BENCH_UNBOUND set, the
 * system decides. */
static void bind_rank(void)
{
    cpu_set_t allowed, one;
    int cpu, nth;
    if (getenv("GOAL_BENCH_UNBOUND") || sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0)
        return;
    nth = me % CPU_COUNT(&allowed);
    for (cpu = 0; !CPU_ISSET(cpu, &allowed) || nth-- > 0; cpu++)
        ;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* True if the name is in a list with commas. */
static int is_in(const char *list, const char *name)
{
    size_t n = strlen(name);
    while (strncmp(list, name, n) != 0 || (list[n] != 0 && list[n] != ','))
        if ((list = strchr(list, ',')) == NULL)
            return 0;
        else
            list++;
    return 1;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576, 4194304};
    double ms = argc > 1 ? atof(argv[1]) : 20;
    const char *only = argc > 2 ? argv[2] : "all";
    int most_bytes = argc > 3 ? atoi(argv[3]) : 65536, least = argc > 4 ? atoi(argv[4]) : 0, what;
    size_t i, room = most_bytes > 65536 ? (size_t)most_bytes : 65536;
    least_work = argc > 5 ? atof(argv[5]) : least_work;
    start(argc, argv);
    bind_rank();
    /* Touched: pages that were never written are one page of zeros, which is always in the cache. */
    give = memset(malloc(all * room), 1, all * room);
    get = memset(malloc(all * room), 0, all * room);
    make_graph();
    calibrate();
    barrier();
    find_others();
    for (what = BARRIER; what < ROWS; what++) {
        if (strcmp(only, "all") != 0 && !is_in(only, names[what]))
            continue;
        if (what == BARRIER || what == SUM || what == GRAPH) {
            if (least <= 8 && (what != GRAPH || HAS_GRAPH))
                row(what, what == BARRIER ? 0 : 8, ms);
            continue;
        }
        for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (sizes[i] >= least && sizes[i] <= most_bytes)
                row(what, sizes[i], ms);
    }
    ends();
    return 0;
}
