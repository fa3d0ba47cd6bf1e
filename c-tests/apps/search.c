/* Breadth-first search of a graph whose vertices are spread over PEs: distances from a vertex, level by level.
 *
 *     oshrun -n PES search [--mode gio|ikn|interk|overlap|all] [--vertices N] [--degree D] [--seed S] [--searches K]
 *                          [--threads T] [--launch US]
 *
 * Vertex v belongs to PE v mod PES. In a level, workgroups look at the neighbours of the vertices that the last level
 * found. Own ones are marked at once; those of another PE go into the workgroup's chunk for that PE, once in a search.
 * A chunk travels with a signal that says how many vertices it has. Then the workgroup marks those in the chunks of its
 * own number from other PEs. At last each PE tells all others how many it has found; none at all: the search is over.
 *
 * gio and ikn: one kernel for a whole search. interk: two kernels a level, and the main thread sends chunks and adds up
 * between them. overlap: the same, each workgroup's chunk for one PE being sent while the next PE's are gathered.
 *
 * Which workgroup finds a vertex is chance, its distance is not: distances are compared with those of a serial search.
 * Standard output: the result; times go to standard error. Status 0: right; 1: not; 2: bad use. */
#include "gio.h"

struct search {
    long vertices, degree, own; /* own: places for this PE's vertices */
    uint64_t seed;
    int me, pes, workgroups;
    uint32_t *distance; /* of own vertices, by v / pes; ~0: not found */
    uint32_t *sent;     /* by vertex: sent to its PE in this search */
    uint32_t *found[2]; /* own vertices by level, in turns */
    long many[2];
    uint32_t *out, *in; /* chunks by PE and workgroup; `in` and `out` are symmetric */
    long *count;        /* by PE and workgroup: vertices of `out` */
    uint64_t *come;     /* symmetric: by PE and workgroup, the step and how many */
    uint64_t *told, *total; /* symmetric: by turn and PE: how many were found, and the step */
};

static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* Neighbour k of v. Half of them are near, so that there are many levels. */
static long neighbour(const struct search *s, long v, long k) {
    uint64_t h = mixed(s->seed * 1000003u + (uint64_t)(v * s->degree + k));
    if (k % 2 == 0) return (v + 1 + (long)(h % 7)) % s->vertices;
    return h % 8 != 0 ? (v + s->vertices - 1 - (long)(h / 8 % 5)) % s->vertices
                      : (long)(h / 8 % (uint64_t)s->vertices);
}

static uint32_t *part(const struct search *s, uint32_t *chunks, int pe, int w) {
    return chunks + (size_t)(pe * s->workgroups + w) * (size_t)s->own;
}
static uint64_t said(uint64_t step, long n) { return step << 32 | (uint64_t)n; }

/* An own vertex, if this is the first time. */
static void mark(struct search *s, long v, uint32_t distance, int turn) {
    uint32_t none = ~0u;
    if (!__atomic_compare_exchange_n(&s->distance[v / s->pes], &none, distance, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    s->found[turn][__atomic_fetch_add(&s->many[turn], 1, __ATOMIC_RELAXED)] = (uint32_t)v;
}

/* Workgroup w's part of what was found in the last level. `only`: the neighbours of that PE; -1: of all. */
static void look(struct search *s, int w, uint32_t level, int only) {
    int last = (int)(level & 1);
    long from = s->many[last] * w / s->workgroups, to = s->many[last] * (w + 1) / s->workgroups;
    for (int pe = 0; pe < s->pes; pe++)
        if (only < 0 || pe == only) s->count[pe * s->workgroups + w] = 0;
    for (long i = from; i < to; i++)
        for (long k = 0; k < s->degree; k++) {
            long v = neighbour(s, s->found[last][i], k);
            int pe = (int)(v % s->pes);
            if (only >= 0 && pe != only) continue;
            if (pe == s->me) mark(s, v, level + 1, !last);
            else if (__atomic_exchange_n(&s->sent[v], 1, __ATOMIC_RELAXED) == 0)
                part(s, s->out, pe, w)[s->count[pe * s->workgroups + w]++] = (uint32_t)v;
        }
}

/* Marks the vertices of a chunk that has come. */
static void take(struct search *s, int pe, int w, uint32_t level) {
    long n = (long)(__atomic_load_n(&s->come[pe * s->workgroups + w], __ATOMIC_ACQUIRE) & 0xffffffffu);
    const uint32_t *chunk = part(s, s->in, pe, w);
    for (long i = 0; i < n; i++) mark(s, chunk[i], level + 1, !(level & 1));
}

/* Steps count on from search to search, so that signals only grow. */
static uint64_t search_inside(struct gio *o, struct search *s, uint64_t step) {
    uint64_t last = 0;
    gio_launch(o);
#pragma omp parallel num_threads(s->workgroups)
    {
        int w = omp_get_thread_num();
        for (uint32_t level = 0;; level++) {
            uint64_t now = step + level;
            look(s, w, level, -1);
            for (int i = 1; i < s->pes; i++) {
                int pe = (s->me + i) % s->pes;
                long n = s->count[pe * s->workgroups + w];
                gio_put_signal(o, w, pe, part(s, s->in, s->me, w), part(s, s->out, pe, w), (size_t)n * sizeof *s->out,
                               &s->come[s->me * s->workgroups + w], said(now, n));
                gio_ring(o, w);
            }
            for (int i = 1; i < s->pes; i++) {
                int pe = (s->me + i) % s->pes;
                hetmp_wait_until(&s->come[pe * s->workgroups + w], SHMEM_CMP_GE, said(now, 0));
                take(s, pe, w, level);
            }
            gio_quiet(o, w);
#pragma omp barrier
            if (w == 0) {
                uint64_t in_turn = (now & 1) * (uint64_t)s->pes, *told = s->told + in_turn, *total = s->total + in_turn;
                uint64_t mine = (uint64_t)s->many[!(level & 1)], all = mine;
                for (int pe = 0; pe < s->pes; pe++)
                    if (pe != s->me) gio_p64_signal(o, w, pe, &total[s->me], mine, &told[s->me], now);
                gio_ring(o, w);
                for (int pe = 0; pe < s->pes; pe++) {
                    if (pe == s->me) continue;
                    hetmp_wait_until(&told[pe], SHMEM_CMP_GE, now);
                    all += __atomic_load_n(&total[pe], __ATOMIC_RELAXED);
                }
                s->many[level & 1] = 0; /* the next level finds into it */
                last = all;
                step = all ? step : now + 1;
            }
#pragma omp barrier
            if (!last) break;
        }
        gio_quiet(o, w);
    }
    return step;
}

static void send(struct search *s, int pe, uint64_t now) {
    for (int w = 0; w < s->workgroups; w++) {
        long n = s->count[pe * s->workgroups + w];
        shmem_putmem_signal_nbi(part(s, s->in, s->me, w), part(s, s->out, pe, w), (size_t)n * sizeof *s->out,
                                &s->come[s->me * s->workgroups + w], said(now, n), SHMEM_SIGNAL_SET, pe);
    }
}

static uint64_t search_outside(struct gio *o, struct search *s, uint64_t step, long *sums) {
    for (uint32_t level = 0;; level++) {
        uint64_t now = step + level;
        /* overlap: a kernel for each PE's neighbours, this one's at last. */
        for (int i = 1; i <= (o->mode == OVERLAP ? s->pes : 1); i++) {
            int only = o->mode == OVERLAP ? (s->me + i) % s->pes : -1;
            gio_launch(o);
#pragma omp parallel num_threads(s->workgroups)
            look(s, omp_get_thread_num(), level, only);
            for (int pe = 0; pe < s->pes; pe++)
                if (pe != s->me && (only < 0 || pe == only)) send(s, pe, now);
        }
        for (int pe = 0; pe < s->pes; pe++)
            for (int w = 0; w < s->workgroups && pe != s->me; w++)
                shmem_signal_wait_until(&s->come[pe * s->workgroups + w], SHMEM_CMP_GE, said(now, 0));
        gio_launch(o);
#pragma omp parallel num_threads(s->workgroups)
        for (int pe = 0; pe < s->pes; pe++)
            if (pe != s->me) take(s, pe, omp_get_thread_num(), level);
        shmem_quiet();
        sums[0] = s->many[!(level & 1)];
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sums[1], &sums[0], 1);
        s->many[level & 1] = 0;
        if (!sums[1]) return now + 1;
    }
}

static void start(struct search *s, long root) {
    memset(s->distance, 0xff, (size_t)s->own * sizeof *s->distance);
    memset(s->sent, 0, (size_t)s->vertices * sizeof *s->sent);
    s->many[0] = s->many[1] = 0;
    s->sent[root] = 1;
    if (root % s->pes == s->me) mark(s, root, 0, 0);
}

static void serial(const struct search *s, long root, uint32_t *distance, uint32_t *queue) {
    long head = 0, tail = 1;
    memset(distance, 0xff, (size_t)s->vertices * sizeof *distance);
    distance[root] = 0;
    queue[0] = (uint32_t)root;
    while (head < tail) {
        long v = queue[head++];
        for (long k = 0; k < s->degree; k++) {
            long u = neighbour(s, v, k);
            if (distance[u] != ~0u) continue;
            distance[u] = distance[v] + 1;
            queue[tail++] = (uint32_t)u;
        }
    }
}

static void *memory(size_t bytes, int symmetric) {
    void *at = symmetric ? shmem_calloc(bytes, 1) : calloc(bytes, 1);
    if (!at && symmetric) gio_die("symmetric heap: %zu more bytes (expected a larger SHMEM_SYMMETRIC_SIZE)", bytes);
    if (!at) gio_die("--vertices: no memory for %zu more bytes", bytes);
    return at;
}

int main(int argc, char **argv) {
    int mode = 4;
    long searches = 3;
    struct search s = {.vertices = 20000, .degree = 4, .seed = 1, .workgroups = omp_get_max_threads()};
    struct gio o = {.launch = 0};
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--mode") == 0) mode = gio_mode_of(value);
        else if (strcmp(name, "--vertices") == 0) s.vertices = gio_number(name, value, 1, 100000000);
        else if (strcmp(name, "--degree") == 0) s.degree = gio_number(name, value, 1, 1000);
        else if (strcmp(name, "--seed") == 0) s.seed = (uint64_t)gio_number(name, value, 0, 1000000000);
        else if (strcmp(name, "--searches") == 0) searches = gio_number(name, value, 1, 1000000);
        else if (strcmp(name, "--threads") == 0) s.workgroups = (int)gio_number(name, value, 1, 1024);
        else if (strcmp(name, "--launch") == 0) o.launch = 1e-6 * gio_real(name, value, 0, 10000);
        else
            gio_die("argument %s %s: unknown (expected --mode, --vertices, --degree, --seed, --searches, --threads or "
                    "--launch)", name, value ? value : "");
    }
    omp_set_dynamic(0);
    gio_init();
    s.me = shmem_my_pe();
    s.pes = shmem_n_pes();
    s.own = (s.vertices + s.pes - 1) / s.pes;
    size_t chunks = (size_t)(s.pes * s.workgroups), all = (size_t)s.vertices;
    s.distance = memory((size_t)s.own * sizeof *s.distance, 0);
    s.sent = memory(all * sizeof *s.sent, 0);
    for (int turn = 0; turn < 2; turn++) s.found[turn] = memory((size_t)s.own * sizeof *s.found[turn], 0);
    s.count = memory(chunks * sizeof *s.count, 0);
    uint32_t *distance = memory(all * sizeof *distance, 0), *queue = memory(all * sizeof *queue, 0);
    s.out = memory(chunks * (size_t)s.own * sizeof *s.out, 1);
    s.in = memory(chunks * (size_t)s.own * sizeof *s.in, 1);
    s.come = memory(chunks * sizeof *s.come, 1);
    s.told = memory(2 * (size_t)s.pes * sizeof *s.told, 1);
    s.total = memory(2 * (size_t)s.pes * sizeof *s.total, 1);
    long *sums = memory(2 * sizeof *sums, 1);
    int *bad = memory(2 * sizeof *bad, 1);
    if (s.me == 0)
        printf("search %ld vertices of %ld neighbours on %d PEs\n", s.vertices, s.degree, s.pes);
    uint64_t step = 1;
    /* Once more at the beginning: the first one finds cold caches, and threads that have not started. */
    const int first_mode = mode == 4 ? GIO : mode, last_mode = mode == 4 ? OVERLAP : mode;
    for (int turn = first_mode - 1; turn <= last_mode; turn++) {
        int warming = turn < first_mode, m = warming ? first_mode : turn;
        double seconds = 0;
        gio_open(&o, (enum gio_mode)m, s.workgroups, 64);
        bad[0] = 0;
        for (long k = 0; k < (warming ? 1 : searches); k++) {
            long root = (long)(mixed(s.seed + (uint64_t)k) % (uint64_t)s.vertices);
            start(&s, root);
            shmem_barrier_all();
            double began = gio_now();
            step = m == GIO || m == IKN ? search_inside(&o, &s, step) : search_outside(&o, &s, step, sums);
            shmem_barrier_all();
            seconds += gio_now() - began;
            serial(&s, root, distance, queue);
            for (long i = 0; i * s.pes + s.me < s.vertices; i++)
                bad[0] |= s.distance[i] != distance[i * s.pes + s.me];
        }
        gio_close(&o);
        if (warming) continue;
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, &bad[1], &bad[0], 1);
        if (s.me == 0) {
            printf("%s\n", bad[1] ? "wrong" : "right");
            fprintf(stderr, "time search %s pes %d threads %d seconds %.6f\n", gio_modes[m], s.pes, s.workgroups,
                    seconds / (double)searches);
        }
        if (bad[1]) break;
    }
    int status = bad[1];
    shmem_finalize();
    return status;
}
