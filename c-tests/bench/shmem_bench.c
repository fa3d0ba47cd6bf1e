// OpenSHMEM operations one by one, in the interface of specification 1.4, so that older libraries compile it, too.
//
//   shmem_bench [--ms N] [--rows TEXT] [--point]
//
// PE 0 prints one line a row: name, bytes, nanoseconds an operation (median of windows), least and most.
// Rows of one initiator: PE 0 works on PE 1, while the others sleep and look now and then. Rows of
// collectives: all PEs, back to back; every eighth is followed by a barrier, which is part of the
// time, because the active-set forms may not use a pSync again before. --point leaves the collectives out.
//
// Floors in the same run: memcpy into memory shared with nobody (copy), and a cache line handed to PE 1 and back
// through plain loads and stores where shmem_ptr gives a pointer (hop, one way).
#include <shmem.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WINDOWS = 15, PSYNCS = 8, LARGEST = 1 << 20 };

static int me, n, ms = 20;
static const char *only;
// All of it in the symmetric heap: some libraries reach static variables of a peer only while that peer calls in.
static struct {
    long psync[PSYNCS][SHMEM_COLLECT_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE +
        SHMEM_ALLTOALL_SYNC_SIZE];
    long pwrk[PSYNCS][65536 / 8 / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    _Alignas(64) long parked;
    _Alignas(64) long word;
    _Alignas(64) long ball;
    _Alignas(64) uint64_t signal_word;
    _Alignas(64) double agreed;
} * sym;
static char *sym_a, *sym_b;
static char *private_a, *shared_b;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void show(const char *name, size_t bytes, double *ns)
{
    qsort(ns, WINDOWS, sizeof *ns, ascending);
    printf("%s %zu %.2f %.2f %.2f\n", name, bytes, ns[WINDOWS / 2], ns[0], ns[WINDOWS - 1]);
    fflush(stdout);
}

static int wanted(const char *name)
{
    return !only || strstr(name, only);
}

// One initiator. The operation is a macro argument, so that it is inlined into the loop.
#define TIMES(name, bytes, body)                                                                                       \
    do {                                                                                                               \
        double ns_[WINDOWS];                                                                                           \
        long count_ = 1;                                                                                               \
        double once_ = 0;                                                                                              \
        for (;;) {                                                                                                     \
            double t_ = now();                                                                                         \
            for (long i = 0; i < count_; i++) {                                                                        \
                body;                                                                                                  \
            }                                                                                                          \
            t_ = now() - t_;                                                                                           \
            /* Twice, since an interruption makes a few turns look like many. */                                       \
            if (t_ > 1e6 * ms / WINDOWS && once_ > 0)                                                                  \
                break;                                                                                                 \
            if (t_ > 1e6 * ms / WINDOWS) {                                                                             \
                once_ = t_;                                                                                            \
                continue;                                                                                              \
            }                                                                                                          \
            once_ = 0;                                                                                                 \
            count_ = t_ < 1e4 ? count_ * 8 : (long)((double)count_ * 1.2e6 * ms / WINDOWS / t_) + 1;                   \
        }                                                                                                              \
        for (int w_ = 0; w_ < WINDOWS; w_++) {                                                                         \
            double t_ = now();                                                                                         \
            for (long i = 0; i < count_; i++) {                                                                        \
                body;                                                                                                  \
            }                                                                                                          \
            ns_[w_] = (now() - t_) / (double)count_;                                                                   \
        }                                                                                                              \
        show(name, bytes, ns_);                                                                                        \
    } while (0)

#define POINT(name, bytes, body)                            \
    do {                                                    \
        if (wanted(name)) {                                 \
            shmem_barrier_all();                            \
            if (me == 0) {                                  \
                TIMES(name, bytes, body);                   \
                for (int pe_ = 1; pe_ < n; pe_++)           \
                    shmem_long_p(&sym->parked, 1, pe_);     \
                shmem_quiet();                              \
            } else {                                        \
                while (*(volatile long *)&sym->parked == 0) \
                    usleep(500);                            \
                sym->parked = 0;                            \
            }                                               \
            shmem_barrier_all();                            \
        }                                                   \
    } while (0)

// All PEs. PE 0's clock decides the number of turns.
#define ALL(name, bytes, body)                                                                    \
    do {                                                                                          \
        if (wanted(name)) {                                                                       \
            double ns_[WINDOWS];                                                                  \
            long count_ = 64;                                                                     \
            for (int w_ = -1; w_ < WINDOWS; w_++) {                                               \
                shmem_barrier_all();                                                              \
                double t_ = now();                                                                \
                for (long i = 0; i < count_; i++) {                                               \
                    long *sync = sym->psync[i % PSYNCS];                                          \
                    long *work = sym->pwrk[i % PSYNCS];                                           \
                    (void)sync, (void)work;                                                       \
                    body;                                                                         \
                    if (i % PSYNCS == PSYNCS - 1)                                                 \
                        shmem_barrier_all();                                                      \
                }                                                                                 \
                t_ = (now() - t_) / (double)count_;                                               \
                if (w_ >= 0)                                                                      \
                    ns_[w_] = t_;                                                                 \
                else {                                                                            \
                    shmem_barrier_all();                                                          \
                    if (me == 0)                                                                  \
                        for (int pe_ = n - 1; pe_ >= 0; pe_--)                                    \
                            shmem_double_p(&sym->agreed, t_, pe_);                                \
                    shmem_barrier_all();                                                          \
                    count_ = (long)(1e6 * ms / WINDOWS / sym->agreed) / PSYNCS * PSYNCS + PSYNCS; \
                }                                                                                 \
            }                                                                                     \
            if (me == 0)                                                                          \
                show(name, bytes, ns_);                                                           \
        }                                                                                         \
    } while (0)

static void hop(void)
{
    long *there = n > 1 ? shmem_ptr(&sym->ball, 1) : NULL;
    if (me == 0 && (!there || !wanted("hop")))
        shmem_long_p(&sym->word, -1, 1 % n);
    shmem_barrier_all();
    int skip = me == 1 ? sym->word == -1 : !there || !wanted("hop");
    if (!skip && me <= 1) {
        volatile long *at = me == 0 ? there : &sym->ball;
        double ns[WINDOWS];
        for (int w = 0; w < WINDOWS; w++) {
            double t = now();
            for (int i = 0; i < 20000; i++) {
                while (*at != me)
                    ;
                *at = !me;
            }
            ns[w] = (now() - t) / 40000;
        }
        if (me == 0)
            show("hop", 8, ns);
    }
    shmem_barrier_all();
    if (me == 1)
        sym->word = 0;
}

int main(int argc, char **argv)
{
    int point = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--point"))
            point = 1;
        else if (!strcmp(argv[i], "--ms") && i + 1 < argc)
            ms = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--rows") && i + 1 < argc)
            only = argv[++i];
        else {
            fprintf(stderr, "hetmp: option %s: unknown (expected --ms N, --rows TEXT or --point)\n", argv[i]);
            return 2;
        }
    }
    if (ms < 1)
        ms = 1;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    int to = n > 1;
    sym = shmem_malloc(sizeof *sym);
    if (!sym) {
        fprintf(stderr, "hetmp: memory of %zu bytes a PE: more symmetric heap is needed\n", sizeof *sym);
        shmem_global_exit(1);
    }
    memset(sym, 0, sizeof *sym);
    shmem_barrier_all();
    for (int i = 0; i < PSYNCS; i++)
        for (size_t k = 0; k < sizeof sym->psync[i] / sizeof(long); k++)
            sym->psync[i][k] = SHMEM_SYNC_VALUE;
    // Room for every PE's part of the largest all-to-all.
    sym_a = shmem_malloc((size_t)LARGEST * (size_t)(n > 4 ? n : 4));
    sym_b = shmem_malloc((size_t)LARGEST * (size_t)(n > 4 ? n : 4));
    private_a = malloc(LARGEST);
    shared_b = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!sym_a || !sym_b || !private_a || shared_b == MAP_FAILED) {
        fprintf(stderr, "hetmp: memory of %d bytes a PE: more symmetric heap is needed\n", 8 * LARGEST);
        shmem_global_exit(1);
    }
    memset(sym_a, 1, LARGEST * 4);
    memset(sym_b, 2, LARGEST * 4);
    memset(private_a, 3, LARGEST);
    memset(shared_b, 4, LARGEST);
    shmem_barrier_all();

    hop();
    static const size_t sizes[] = {4, 64, 1024, 4096, 65536, 1 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t bytes = sizes[s];
        // The compiler must not make one copy of many.
        POINT("copy", bytes, memcpy(shared_b, private_a, bytes); __asm__ volatile("" : : "r"(shared_b) : "memory"));
        POINT("put+quiet", bytes, shmem_putmem(sym_b, private_a, bytes, to); shmem_quiet());
        POINT("get", bytes, shmem_getmem(private_a, sym_b, bytes, to));
    }
    POINT("put_nbi", 8, shmem_putmem_nbi(sym_b + 8 * (i & 1023), private_a, 8, to); if (i % 64 == 63) shmem_quiet());
    POINT("p+quiet", 8, shmem_long_p(&sym->word, i, to); shmem_quiet());
    POINT("p", 8, shmem_long_p(&sym->word, i, to));
    POINT("g", 8, private_a[0] += (char)shmem_long_g(&sym->word, to));
    POINT("fetch_add", 8, shmem_long_atomic_fetch_add(&sym->word, 1, to));
    POINT("add+quiet", 8, shmem_long_atomic_add(&sym->word, 1, to); shmem_quiet());
    POINT("swap", 8, shmem_long_atomic_swap(&sym->word, i, to));
    POINT("compare_swap", 8, shmem_long_atomic_compare_swap(&sym->word, i, i + 1, to));
    POINT("atomic_fetch", 8, shmem_long_atomic_fetch(&sym->word, to));
    POINT("iput", 64 * 8, shmem_long_iput((long *)sym_b, (long *)private_a, 2, 1, 64, to));
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
    POINT("put_signal+quiet", 8, shmem_putmem_signal(sym_b, private_a, 8, &sym->signal_word, 1, SHMEM_SIGNAL_SET,
                                                     to); shmem_quiet());
    POINT("put_signal+quiet", 1024, shmem_putmem_signal(sym_b, private_a, 1024, &sym->signal_word, 1, SHMEM_SIGNAL_SET,
                                                        to); shmem_quiet());
#endif
    if (!point) {
        ALL("barrier_all", 0, shmem_barrier_all());
        ALL("sync_all", 0, shmem_sync_all());
        static const size_t blocks[] = {8, 1024, 65536};
        for (size_t s = 0; s < sizeof blocks / sizeof *blocks; s++) {
            size_t bytes = blocks[s], words = bytes / 8;
            ALL("broadcast", bytes, shmem_broadcast64(sym_b, sym_a, words, 0, 0, 0, n, sync));
            ALL("fcollect", bytes, shmem_fcollect64(sym_b, sym_a, words, 0, 0, n, sync));
            ALL("alltoall", bytes, shmem_alltoall64(sym_b, sym_a, words, 0, 0, n, sync));
            ALL("sum_reduce", bytes, shmem_long_sum_to_all((long *)sym_b, (long *)sym_a, (int)words, 0, 0, n, work,
                                                           sync));
        }
    }
    shmem_barrier_all();
    if (me == 0) {
        // Some libraries crash in finalize: the rows are complete.
        printf("end 0 0 0 0\n");
        fflush(stdout);
    }
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
