#define _GNU_SOURCE
/* Latency of a put by who posts it: the microbenchmark of "GPU Initiated OpenSHMEM" (figure 5), on CPU threads.
 *
 *     oshrun -n 2 gio_put [--ms N] [--threads T] [--initiators LIST] [--sizes LIST] [--pin no] [--stream N]
 *
 * PE 0 puts into the heap of PE 1, which sleeps in a barrier, and waits until the data have arrived: put, ring, quiet.
 * PE 0 prints one line a row: mode, bytes, initiators, nanoseconds an operation (median of windows), least and most.
 * The windows of all modes of one size are in turns. Modes:
 *
 *   cpu      shmem_putmem and shmem_quiet, no kernel: the floor of the software
 *   gio      one workgroup of a running kernel posts from its templates
 *   built    the same with the whole descriptor built for each put
 *   ikn      the workgroup asks a CPU thread, which builds the descriptor and posts
 *   interk   an empty kernel, then the main thread's shmem_putmem and shmem_quiet
 *   launch   the same where a kernel takes 20 us more to start, as on a GPU (the time is waited for)
 *
 * Where there are two CPUs or more, the first initiator has one of its own, as a workgroup has its compute unit; the
 * engine's thread has another one, as an adapter is next to both; the CPU thread of ikn a third one, or the engine's
 * (--pin no: the kernel decides, and may put those that wait for each other on one CPU).
 *
 * With --stream N only bandwidth is measured: N puts, then one quiet; the rows are named MODE-stream, nanoseconds a
 * put.
 *
 * Initiators: how many workgroups put at once, each through its own queue (gio) or all through one CPU thread (ikn);
 * the time is the first one's. `hop`: a cache line handed to another thread and back, half of it. */
#include "../apps/gio.h"

#include <dirent.h>

enum { WINDOWS = 11, MOST = 64 };
enum mode { CPU, GPU_POSTS, BUILT, ASKS, KERNEL, LAUNCH, MODES };
static const char *const names[] = {"cpu", "gio", "built", "ikn", "interk", "launch"};

static char *there, *source;
static int threads = 2;
static double window = 1e-3;
static long stream; /* puts before a quiet; 0: each put is waited for */
static int cpus[4], n_cpus; /* those that this process may use */

static void pin(pid_t thread, int k) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[k % n_cpus], &one);
    if (n_cpus > 1) sched_setaffinity(thread, sizeof one, &one);
}

/* Gives the engine's thread a CPU of its own. */
static void pin_engine(void) {
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        if (fgets(name, sizeof name, file) && strncmp(name, "hetmp-", 6) == 0) pin((pid_t)atol(task->d_name), 1);
        fclose(file);
    }
    if (tasks) closedir(tasks);
}

static void look_for_cpus(int wanted) {
    cpu_set_t all;
    if (!wanted || sched_getaffinity(0, sizeof all, &all) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE && n_cpus < 4; cpu++)
        if (CPU_ISSET(cpu, &all)) cpus[n_cpus++] = cpu;
    if (n_cpus < 2) n_cpus = 0;
}

/* The CPU thread of ikn. */
static void open_helper(struct gio *g, int workgroups) {
    gio_open(g, IKN, workgroups, 64);
    if (n_cpus) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpus[n_cpus > 2 ? 2 : 1], &one);
        pthread_setaffinity_np(g->helper, sizeof one, &one);
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show(const char *name, size_t bytes, int initiators, double *ns, int n) {
    qsort(ns, (size_t)n, sizeof *ns, ascending);
    printf("%s %zu %d %.1f %.1f %.1f\n", name, bytes, initiators, ns[n / 2], ns[0], ns[n - 1]);
    fflush(stdout);
}

/* `stream` puts of workgroup w, arrived. */
static void stream_inside(struct gio *o, int w, size_t bytes, int built) {
    for (long i = 0; i < stream; i++) {
        if (built) gio_check("hetmp_put_built", 1, hetmp_put_built(&o->queues[w], 1, there, source, bytes));
        else gio_put(o, w, 1, there, source, bytes);
        gio_ring(o, w);
    }
    gio_quiet(o, w);
}

/* The same by the main thread. */
static void stream_outside(size_t bytes) {
    for (long i = 0; i < stream; i++) shmem_putmem_nbi(there, source, bytes, 1);
    shmem_quiet();
}

/* One put of workgroup w, arrived. */
static void put_inside(struct gio *o, int w, size_t bytes, int built) {
    if (built) {
        gio_check("hetmp_put_built", 1, hetmp_put_built(&o->queues[w], 1, there, source, bytes));
        gio_check("hetmp_quiet", 1, hetmp_quiet(&o->queues[w]));
        return;
    }
    gio_put(o, w, 1, there, source, bytes);
    gio_ring(o, w);
    gio_quiet(o, w);
}

/* Puts for the time of a window; nanoseconds each. */
static double measure(enum mode mode, struct gio *o, size_t bytes) {
    double began = gio_now(), ended;
    long n = 0;
    do {
        for (int i = 0; i < (stream ? 1 : 8); i++, n += stream ? stream : 1) {
            if (mode == CPU || mode == KERNEL || mode == LAUNCH) {
                if (mode != CPU) {
                    if (mode == LAUNCH)
                        for (double until = gio_now() + 20e-6; gio_now() < until;) GIO_PAUSE();
#pragma omp parallel num_threads(threads)
                    __asm__ volatile("" ::: "memory");
                }
                if (stream) {
                    stream_outside(bytes);
                    continue;
                }
                shmem_putmem(there, source, bytes, 1);
                shmem_quiet();
            } else if (stream) {
                stream_inside(o, 0, bytes, mode == BUILT);
            } else {
                put_inside(o, 0, bytes, mode == BUILT);
            }
        }
        ended = gio_now();
    } while (ended - began < window);
    return 1e9 * (ended - began) / (double)n;
}

/* Modes that post from inside run in a kernel that has begun. */
static double measure_inside(enum mode mode, struct gio *o, size_t bytes, int initiators) {
    double ns = 0;
    int stop = 0;
#pragma omp parallel num_threads(initiators)
    {
        if (n_cpus && omp_get_thread_num() > 0) pin(0, omp_get_thread_num());
        if (omp_get_thread_num() == 0) {
            ns = measure(mode, o, bytes);
            __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
        } else {
            while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) put_inside(o, omp_get_thread_num(), bytes, 0);
        }
    }
    return ns;
}

static uint64_t ball;
static void *bounce(void *unused) {
    (void)unused;
    for (uint64_t i = 1; i < 20000; i += 2) {
        unsigned turns = 0;
        while (__atomic_load_n(&ball, __ATOMIC_ACQUIRE) != i) gio_turn(&turns);
        __atomic_store_n(&ball, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* A cache line's way to the other core. */
static void hop(void) {
    double ns[3];
    for (int round = 0; round < 3; round++) {
        pthread_t other;
        ball = 0;
        if (pthread_create(&other, NULL, bounce, NULL) != 0) gio_die("thread: cannot be started");
        if (n_cpus) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpus[1], &one);
            pthread_setaffinity_np(other, sizeof one, &one);
        }
        double began = gio_now();
        for (uint64_t i = 0; i < 19999; i += 2) {
            unsigned turns = 0;
            while (__atomic_load_n(&ball, __ATOMIC_ACQUIRE) != i) gio_turn(&turns);
            __atomic_store_n(&ball, i + 1, __ATOMIC_RELEASE);
        }
        ns[round] = 1e9 * (gio_now() - began) / 20000;
        pthread_join(other, NULL);
    }
    show("hop", 64, 1, ns, 3);
}

static int list(const char *what, char *text, long *numbers, long most) {
    int n = 0;
    for (char *word = text ? strtok(text, ",") : NULL; word && n < MOST; word = strtok(NULL, ","))
        numbers[n++] = gio_number(what, word, 1, most);
    if (n == 0) gio_die("%s: not usable (expected numbers separated by commas)", what);
    return n;
}

int main(int argc, char **argv) {
    long sizes[MOST] = {4, 64, 1024, 8192, 65536, 1 << 20}, initiators[MOST] = {1, 2, 4, 8};
    int n_sizes = 6, n_initiators = 4, ms = 20, pinned = 1;
    for (int i = 1; i < argc; i += 2) {
        char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--ms") == 0) ms = (int)gio_number(argv[i], value, 1, 10000);
        else if (strcmp(argv[i], "--threads") == 0) threads = (int)gio_number(argv[i], value, 1, 1024);
        else if (strcmp(argv[i], "--sizes") == 0) n_sizes = list(argv[i], value, sizes, 1 << 24);
        else if (strcmp(argv[i], "--initiators") == 0) n_initiators = list(argv[i], value, initiators, 256);
        else if (strcmp(argv[i], "--stream") == 0) stream = gio_number(argv[i], value, 1, 64);
        else if (strcmp(argv[i], "--pin") == 0 && value && strcmp(value, "no") == 0) pinned = 0;
        else gio_die("argument %s: unknown (expected --ms, --threads, --sizes, --initiators, --stream or --pin no)",
                     argv[i]);
    }
    window = 1e-3 * ms / WINDOWS;
    omp_set_dynamic(0);
    gio_init();
    if (shmem_n_pes() != 2) gio_die("PEs %d: not usable (expected 2)", shmem_n_pes());
    size_t largest = 8;
    for (int s = 0; s < n_sizes; s++) largest = (size_t)sizes[s] > largest ? (size_t)sizes[s] : largest;
    there = shmem_malloc(largest);
    source = malloc(largest);
    if (!there || !source) gio_die("--sizes %zu: not usable (expected a larger SHMEM_SYMMETRIC_SIZE)", largest);
    memset(source, 7, largest);
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        int most = 1;
        for (int k = 0; k < n_initiators; k++) most = initiators[k] > most ? (int)initiators[k] : most;
        look_for_cpus(pinned);
        struct gio gio = {.launch = 0}, ikn = {.launch = 0};
        gio_open(&gio, GIO, most, 64);
        /* The first region starts the threads, which inherit where they may run. */
#pragma omp parallel num_threads(threads)
        if (n_cpus) pin(0, omp_get_thread_num());
        if (n_cpus) {
            pin_engine();
            pin(0, 0);
        }
        hop();
        for (int s = 0; s < n_sizes; s++) {
            double ns[MODES][WINDOWS];
            /* The CPU thread of ikn looks for requests all the time: it runs only while ikn is measured. */
            for (int i = 0; i < WINDOWS; i++)
                for (int m = 0; m < MODES; m++) {
                    if (m == ASKS) open_helper(&ikn, 1);
                    struct gio *o = m == ASKS ? &ikn : &gio;
                    int inside = m == GPU_POSTS || m == BUILT || m == ASKS;
                    ns[m][i] = inside ? measure_inside((enum mode)m, o, (size_t)sizes[s], 1) :
                        measure((enum mode)m, o, (size_t)sizes[s]);
                    if (m == ASKS) gio_close(&ikn);
                }
            for (int m = 0; m < MODES; m++) {
                char name[32];
                snprintf(name, sizeof name, "%s%s", names[m], stream ? "-stream" : "");
                show(name, (size_t)sizes[s], 1, ns[m], WINDOWS);
            }
        }
        for (int k = 0; k < n_initiators && !stream; k++) {
            int n = (int)initiators[k];
            for (int s = 0; s < n_sizes; s++) {
                if (sizes[s] != 4 && sizes[s] != 65536) continue;
                double ns[2][WINDOWS];
                for (int i = 0; i < WINDOWS; i++) {
                    ns[0][i] = measure_inside(GPU_POSTS, &gio, (size_t)sizes[s], n);
                    open_helper(&ikn, n);
                    ns[1][i] = measure_inside(ASKS, &ikn, (size_t)sizes[s], n);
                    gio_close(&ikn);
                }
                show("gio-others", (size_t)sizes[s], n, ns[0], WINDOWS);
                show("ikn-others", (size_t)sizes[s], n, ns[1], WINDOWS);
            }
        }
        gio_close(&gio);
        printf("end\n");
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
