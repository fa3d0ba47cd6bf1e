/* A layer of experts spread over PEs, as mixture-of-experts models have it: dispatch and combine, two all-to-alls.
 *
 *     oshrun -n PES experts [--mode gio|ikn|interk|overlap|all] [--tokens N] [--width D] [--experts E] [--top K]
 *                           [--rounds R] [--threads T] [--launch US]
 *
 * Each PE has N tokens of D numbers and E experts. A token's gate names K experts of all PEs. Dispatch sends the token
 * to them, combine brings back what they made of it, and the token becomes the weighted sum.
 *
 * gio and ikn: one kernel for all rounds. A workgroup gathers its tokens by PE and sends each PE one chunk with a
 * signal that says how many there are. Then it works on the chunks of its own number from every PE as they come, and
 * sends each back in the same way; then it sums up its tokens. No barrier: a chunk's place is written again only after
 * its answer has come, and the answer's place only after it was used. interk: a kernel for each of the three steps, and
 * the main thread sends chunks between them; overlap: the same, a PE's own chunks being worked on while others travel.
 *
 * All numbers are small whole ones and weights are powers of two, so that sums are exact in any order; the result is
 * compared with a serial one. Standard output: the result; times go to standard error. Status 0: right; 1: not; 2: bad
 * use. */
#include "gio.h"

struct layer {
    long tokens, experts, top, width, rounds;
    int me, pes, workgroups;
    size_t row, chunk; /* doubles: of a row (expert, then numbers), and of a chunk */
    double *x;         /* tokens: this PE's, and what becomes of them */
    double *out, *in;  /* chunks by PE and workgroup: tokens on their way, and those that came; both symmetric */
    double *back;      /* symmetric: answers, by PE and workgroup, in the order of `out` */
    uint64_t *come, *answered; /* symmetric: the round in the high half, and how many rows */
    long *count;               /* by PE and workgroup: rows of `out` */
};

static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* The k-th expert of a token: all different, and never the same in two rounds. */
static long gate(const struct layer *l, int pe, long token, long round, long k) {
    long all = l->experts * l->pes;
    uint64_t h = mixed((uint64_t)((pe * l->tokens + token) * l->rounds + round));
    return (long)((h + (uint64_t)k * (1 + (h >> 40) % (uint64_t)(all > l->top ? all / l->top : 1))) % (uint64_t)all);
}

/* What expert e makes of a row: numbers stay below 64. */
static void expert(long e, const double *from, double *to, long width) {
    for (long j = 0; j < width; j++) {
        long v = (long)from[j] * (1 + (e + j) % 5) + (long)from[(j + 1) % width] * (1 + e % 3);
        to[j] = (double)(v % 64);
    }
}

static double first_value(const struct layer *l, int pe, long token, long j) {
    return (double)(mixed((uint64_t)((pe * l->tokens + token) * l->width + j)) % 64);
}

/* A token after a round, from its answers in the order of its experts; a whole number again. */
static void combine(const struct layer *l, double *x, const double *answer, long k) {
    for (long j = 0; j < l->width; j++) {
        double sum = (k == 0 ? 0 : x[j]) + answer[j] / (double)(1 << k);
        x[j] = k + 1 == l->top ? (double)((long)(sum * 8) % 64) : sum;
    }
}

static double *part(const struct layer *l, double *chunks, int pe, int w) {
    return chunks + (size_t)(pe * l->workgroups + w) * l->chunk;
}
static long first_token(const struct layer *l, int w) { return l->tokens * w / l->workgroups; }

/* Workgroup w's tokens into its chunks. */
static void gather(struct layer *l, int w, long round) {
    for (int pe = 0; pe < l->pes; pe++) l->count[pe * l->workgroups + w] = 0;
    for (long t = first_token(l, w); t < first_token(l, w + 1); t++)
        for (long k = 0; k < l->top; k++) {
            long e = gate(l, l->me, t, round, k);
            int pe = (int)(e / l->experts);
            double *row = part(l, l->out, pe, w) + (size_t)l->count[pe * l->workgroups + w]++ * l->row;
            row[0] = (double)e;
            memcpy(row + 1, l->x + (size_t)t * (size_t)l->width, (size_t)l->width * sizeof *row);
        }
}

/* The rows of a chunk that came, in place. */
static void work(const struct layer *l, int pe, int w, long rows) {
    double made[l->width];
    for (long i = 0; i < rows; i++) {
        double *row = part(l, l->in, pe, w) + (size_t)i * l->row;
        expert((long)row[0], row + 1, made, l->width);
        memcpy(row + 1, made, sizeof made);
    }
}

/* Workgroup w's tokens from their answers, which lie as `gather` laid the tokens. */
static void sum_up(struct layer *l, int w, long round) {
    long next[l->pes];
    memset(next, 0, sizeof next);
    for (long t = first_token(l, w); t < first_token(l, w + 1); t++)
        for (long k = 0; k < l->top; k++) {
            int pe = (int)(gate(l, l->me, t, round, k) / l->experts);
            combine(l, l->x + (size_t)t * (size_t)l->width, part(l, l->back, pe, w) + (size_t)next[pe]++ * l->row + 1,
                    k);
        }
}

static size_t bytes_of(const struct layer *l, long rows) { return (size_t)rows * l->row * sizeof(double); }
static uint64_t said(long round, long rows) { return (uint64_t)(round + 1) << 32 | (uint64_t)rows; }
static long rows_said(const uint64_t *word) { return (long)(__atomic_load_n(word, __ATOMIC_ACQUIRE) & 0xffffffffu); }

static void rounds_inside(struct gio *o, struct layer *l) {
    gio_launch(o);
#pragma omp parallel num_threads(l->workgroups)
    {
        int w = omp_get_thread_num();
        for (long round = 0; round < l->rounds; round++) {
            gather(l, w, round);
            for (int i = 0; i < l->pes; i++) {
                int pe = (l->me + i) % l->pes; /* not all to the same one at first */
                long rows = l->count[pe * l->workgroups + w];
                gio_put_signal(o, w, pe, part(l, l->in, l->me, w), part(l, l->out, pe, w), bytes_of(l, rows),
                               &l->come[l->me * l->workgroups + w], said(round, rows));
                gio_ring(o, w);
            }
            for (int i = 0; i < l->pes; i++) {
                int pe = (l->me + i) % l->pes;
                uint64_t *word = &l->come[pe * l->workgroups + w];
                hetmp_wait_until(word, SHMEM_CMP_GE, said(round, 0));
                long rows = rows_said(word);
                work(l, pe, w, rows);
                gio_put_signal(o, w, pe, part(l, l->back, l->me, w), part(l, l->in, pe, w), bytes_of(l, rows),
                               &l->answered[l->me * l->workgroups + w], said(round, rows));
                gio_ring(o, w);
            }
            for (int pe = 0; pe < l->pes; pe++)
                hetmp_wait_until(&l->answered[pe * l->workgroups + w], SHMEM_CMP_GE, said(round, 0));
            sum_up(l, w, round);
            gio_quiet(o, w); /* answers have left: their places are written by the next round's tokens */
        }
    }
}

/* The main thread sends all chunks of one step. */
static void exchange(struct layer *l, double *to, double *from, uint64_t *signals, const long *rows, long round) {
    for (int i = 0; i < l->pes; i++)
        for (int w = 0, pe = (l->me + i) % l->pes; w < l->workgroups; w++) {
            long n = rows[pe * l->workgroups + w];
            shmem_putmem_signal_nbi(part(l, to, l->me, w), part(l, from, pe, w), bytes_of(l, n),
                                    &signals[l->me * l->workgroups + w], said(round, n), SHMEM_SIGNAL_SET, pe);
        }
}

/* A kernel that works on the chunks of some PEs. */
static void work_kernel(struct gio *o, struct layer *l, long *rows, int first, int many, long round) {
    gio_launch(o);
    for (int i = 0; i < many * l->workgroups; i++) {
        int at = (first + i / l->workgroups) % l->pes * l->workgroups + i % l->workgroups;
        shmem_signal_wait_until(&l->come[at], SHMEM_CMP_GE, said(round, 0));
        rows[at] = rows_said(&l->come[at]);
    }
#pragma omp parallel num_threads(l->workgroups)
    for (int i = 0; i < many; i++) {
        int w = omp_get_thread_num(), pe = (first + i) % l->pes;
        work(l, pe, w, rows[pe * l->workgroups + w]);
    }
}

static void rounds_outside(struct gio *o, struct layer *l) {
    long rows[l->pes * l->workgroups];
    for (long round = 0; round < l->rounds; round++) {
        gio_launch(o);
#pragma omp parallel num_threads(l->workgroups)
        gather(l, omp_get_thread_num(), round);
        exchange(l, l->in, l->out, l->come, l->count, round);
        if (o->mode == OVERLAP) {
            work_kernel(o, l, rows, l->me, 1, round);
            if (l->pes > 1) work_kernel(o, l, rows, l->me + 1, l->pes - 1, round);
        } else {
            shmem_quiet();
            work_kernel(o, l, rows, 0, l->pes, round);
        }
        exchange(l, l->back, l->in, l->answered, rows, round);
        for (int at = 0; at < l->pes * l->workgroups; at++)
            shmem_signal_wait_until(&l->answered[at], SHMEM_CMP_GE, said(round, 0));
        gio_launch(o);
#pragma omp parallel num_threads(l->workgroups)
        sum_up(l, omp_get_thread_num(), round);
        shmem_quiet();
    }
}

static void start(struct layer *l) {
    size_t signals = (size_t)(l->pes * l->workgroups) * sizeof(uint64_t);
    for (long t = 0; t < l->tokens; t++)
        for (long j = 0; j < l->width; j++) l->x[t * l->width + j] = first_value(l, l->me, t, j);
    memset(l->come, 0, signals);
    memset(l->answered, 0, signals);
}

/* True if this PE's tokens are those of a serial run. */
static int is_right(const struct layer *l) {
    double x[l->width], before[l->width], made[l->width];
    int right = 1;
    for (long t = 0; t < l->tokens; t++) {
        for (long j = 0; j < l->width; j++) x[j] = first_value(l, l->me, t, j);
        for (long round = 0; round < l->rounds; round++) {
            memcpy(before, x, sizeof x);
            for (long k = 0; k < l->top; k++) {
                expert(gate(l, l->me, t, round, k), before, made, l->width);
                combine(l, x, made, k);
            }
        }
        right &= memcmp(x, l->x + t * l->width, sizeof x) == 0;
    }
    return right;
}

static void *symmetric(size_t bytes) {
    void *at = shmem_calloc(bytes, 1);
    if (!at) gio_die("symmetric heap: %zu more bytes (expected a larger SHMEM_SYMMETRIC_SIZE)", bytes);
    return at;
}

int main(int argc, char **argv) {
    int mode = 4;
    struct layer l = {.tokens = 64, .experts = 4, .top = 2, .width = 64, .rounds = 10,
                      .workgroups = omp_get_max_threads()};
    struct gio o = {.launch = 0};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--mode") == 0) mode = gio_mode_of(value);
        else if (strcmp(name, "--tokens") == 0) l.tokens = gio_number(name, value, 1, 1000000);
        else if (strcmp(name, "--width") == 0) l.width = gio_number(name, value, 1, 16384);
        else if (strcmp(name, "--experts") == 0) l.experts = gio_number(name, value, 1, 1024);
        else if (strcmp(name, "--top") == 0) l.top = gio_number(name, value, 1, 4);
        else if (strcmp(name, "--rounds") == 0) l.rounds = gio_number(name, value, 1, 1000000);
        else if (strcmp(name, "--threads") == 0) l.workgroups = (int)gio_number(name, value, 1, 1024);
        else if (strcmp(name, "--launch") == 0) o.launch = 1e-6 * gio_real(name, value, 0, 10000);
        else
            gio_die("argument %s %s: unknown (expected --mode, --tokens, --width, --experts, --top, --rounds, "
                    "--threads or --launch)", name, value ? value : "");
    }
    omp_set_dynamic(0);
    gio_init();
    l.me = shmem_my_pe();
    l.pes = shmem_n_pes();
    if (l.top > l.experts * l.pes)
        gio_die("--top %ld: not usable (expected at most the number of experts, %ld)", l.top, l.experts * l.pes);
    size_t chunks = (size_t)(l.pes * l.workgroups);
    l.row = 1 + (size_t)l.width;
    l.chunk = (size_t)((l.tokens + l.workgroups - 1) / l.workgroups * l.top) * l.row;
    l.x = malloc((size_t)(l.tokens * l.width) * sizeof *l.x);
    l.count = calloc(chunks, sizeof *l.count);
    if (!l.x || !l.count) gio_die("--tokens %ld: no memory", l.tokens);
    l.out = symmetric(chunks * l.chunk * sizeof *l.out);
    l.in = symmetric(chunks * l.chunk * sizeof *l.in);
    l.back = symmetric(chunks * l.chunk * sizeof *l.back);
    l.come = symmetric(chunks * sizeof *l.come);
    l.answered = symmetric(chunks * sizeof *l.answered);
    int *bad = symmetric(2 * sizeof *bad);
    if (l.me == 0)
        printf("experts %ld tokens of %ld to %ld of %ld experts on %d PEs, %ld rounds\n", l.tokens * l.pes, l.width,
               l.top, l.experts * l.pes, l.pes, l.rounds);
    /* Once more at the beginning: the first one finds cold caches, and threads that have not started. */
    const int first_mode = mode == 4 ? GIO : mode, last_mode = mode == 4 ? OVERLAP : mode;
    for (int turn = first_mode - 1; turn <= last_mode; turn++) {
        int warming = turn < first_mode, m = warming ? first_mode : turn;
        start(&l);
        gio_open(&o, (enum gio_mode)m, l.workgroups, 64);
        shmem_barrier_all();
        double began = gio_now();
        if (m == GIO || m == IKN) rounds_inside(&o, &l);
        else rounds_outside(&o, &l);
        shmem_barrier_all();
        double seconds = gio_now() - began;
        gio_close(&o);
        if (warming) continue;
        bad[0] = !is_right(&l);
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, &bad[1], &bad[0], 1);
        if (l.me == 0) {
            printf("%s\n", bad[1] ? "wrong" : "right");
            fprintf(stderr, "time experts %s pes %d threads %d seconds %.6f\n", gio_modes[m], l.pes, l.workgroups,
                    seconds);
        }
        if (bad[1]) break;
    }
    int status = bad[1];
    shmem_finalize();
    return status;
}
