/* Breadth-first search of a graph whose vertices are spread over PEs: distances from a vertex, level by level.
 *
 *     oshrun -n PES search [--mode gio|ikn|interk|overlap|all] [--vertices N] [--degree D] [--seed S] [--searches K]
 *                          [--threads T] [--launch US]
 *
 * Vertex v belongs to PE v mod PES. In a level, groups look at the neighbours of the vertices that the last level
 * found. Own ones are marked at once; those of another PE go into the workgroup's chunk for that PE, once in a search.
 * A chunk travels with a signal that says how many vertices it has. Then the workgroup marks those in the chunks of its
 * own number from other PEs. At last each PE tells all others how many it has found; none at all: the search is over.
 *
 * gio and ikn: one kernel for a whole search. interk: two kernels a level, and the main thread sends chunks and adds up
 * between them. overlap: the same, each workgroup's chunk for one PE being sent while the next PE's are gathered.
 *
 * Which workgroup finds a vertex is chance, its distance is not: distances are compared with those of a serial search.
 * Standard output: the result; times go to standard error. Status 0: right; 1: not; 2: bad use. */
#include "search.h"
#include "gio.h"

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
    long many = s->many[last], from = many * w / s->groups, to = many * (w + 1) / s->groups;
    for (int pe = 0; pe < s->pes; pe++)
        if (only < 0 || pe == only) s->count[pe * s->groups + w] = 0;
    for (long i = from; i < to; i++)
        for (long k = 0; k < s->degree; k++) {
            long v = search_neighbour(s, s->found[last][i], k);
            int pe = (int)(v % s->pes);
            if (only >= 0 && pe != only) continue;
            if (pe == s->me) mark(s, v, level + 1, !last);
            else if (__atomic_exchange_n(&s->sent[v], 1, __ATOMIC_RELAXED) == 0)
                search_part(s, s->out, pe, w)[s->count[pe * s->groups + w]++] = (uint32_t)v;
        }
}

/* Marks the vertices of a chunk that has come. */
static void take(struct search *s, int pe, int w, uint32_t level) {
    uint32_t n = gio_many(&s->come[pe * s->groups + w]);
    const uint32_t *chunk = search_part(s, s->in, pe, w);
    for (uint32_t i = 0; i < n; i++) mark(s, chunk[i], level + 1, !(level & 1));
}

/* Steps count on from search to search, so that signals only grow. */
static uint64_t search_inside(struct gio *o, struct search *s, uint64_t step) {
    uint64_t last = 0;
    gio_launch(o);
#pragma omp parallel num_threads(s->groups)
    {
        int w = omp_get_thread_num();
        for (uint32_t level = 0;; level++) {
            uint64_t now = step + level;
            look(s, w, level, -1);
            for (int i = 1; i < s->pes; i++) {
                int pe = (s->me + i) % s->pes;
                size_t n = s->count[pe * s->groups + w];
                gio_put_signal(o, w, pe, search_part(s, s->in, s->me, w), search_part(s, s->out, pe, w),
                               n * sizeof *s->out, &s->come[s->me * s->groups + w], gio_said(now, n));
                gio_ring(o, w);
            }
            for (int i = 1; i < s->pes; i++) {
                int pe = (s->me + i) % s->pes;
                hetmp_wait_until(&s->come[pe * s->groups + w], SHMEM_CMP_GE, gio_said(now, 0));
                take(s, pe, w, level);
            }
            gio_quiet(o, w);
#pragma omp barrier
            if (w == 0) {
                uint64_t in_turn = (now & 1) * (uint64_t)s->pes, *told = s->told + in_turn, *total = s->total + in_turn;
                uint64_t mine = s->many[!(level & 1)], all = mine;
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

static uint64_t search_outside(struct gio *o, struct search *s, uint64_t step) {
    for (uint32_t level = 0;; level++) {
        uint64_t now = step + level;
        /* overlap: a kernel for each PE's neighbours, this one's at last. */
        for (int i = 1; i <= (o->mode == OVERLAP ? s->pes : 1); i++) {
            int only = o->mode == OVERLAP ? (s->me + i) % s->pes : -1;
            gio_launch(o);
#pragma omp parallel num_threads(s->groups)
            look(s, omp_get_thread_num(), level, only);
            for (int pe = 0; pe < s->pes; pe++)
                if (pe != s->me && (only < 0 || pe == only)) search_send(s, s->count, pe, now);
        }
        search_await(s, now);
        gio_launch(o);
#pragma omp parallel num_threads(s->groups)
        for (int pe = 0; pe < s->pes; pe++)
            if (pe != s->me) take(s, pe, omp_get_thread_num(), level);
        shmem_quiet();
        long all = search_sum(s, s->many[!(level & 1)]);
        s->many[level & 1] = 0;
        if (!all) return now + 1;
    }
}

static void start(struct search *s, long root) {
    memset(s->distance, 0xff, (size_t)s->own * sizeof *s->distance);
    memset(s->sent, 0, (size_t)s->vertices * sizeof *s->sent);
    s->many[0] = s->many[1] = 0;
    s->sent[root] = 1;
    if (root % s->pes == s->me) mark(s, root, 0, 0);
}

int main(int argc, char **argv) {
    int mode = GIO_MODES, right = 1;
    long searches = 3;
    struct search s = {.vertices = 20000, .degree = 4, .seed = 1, .groups = omp_get_max_threads()};
    struct gio o = {.launch = 0};
    GIO_OPTIONS(argc, argv, {"--mode", GIO_MODE, &mode, 0, OVERLAP}, SEARCH_OPTIONS(s),
                {"--searches", GIO_LONG, &searches, 1, 1000000}, {"--threads", GIO_INT, &s.groups, 1, 1024},
                {"--launch", GIO_REAL, &o.launch, 0, 10000});
    o.launch *= 1e-6;
    omp_set_dynamic(0);
    gio_init();
    s.count = gio_memory(search_begin(&s) * sizeof *s.count);
    s.distance = gio_memory((size_t)s.own * sizeof *s.distance);
    s.sent = gio_memory((size_t)s.vertices * sizeof *s.sent);
    for (int turn = 0; turn < 2; turn++) s.found[turn] = gio_memory((size_t)s.own * sizeof *s.found[turn]);
    s.many = gio_memory(2 * sizeof *s.many);
    if (s.me == 0)
        printf("search %ld vertices of %ld neighbours on %d PEs\n", s.vertices, s.degree, s.pes);
    uint64_t step = 1;
    enum gio_mode m;
    for (int turn = 0; right && gio_nth(mode, turn, &m); turn++) {
        double seconds = 0;
        int same = 1;
        gio_open(&o, m, s.groups, 64);
        for (long k = 0; k < (turn == 0 ? 1 : searches); k++) {
            long root = search_root(&s, k);
            start(&s, root);
            shmem_barrier_all();
            double began = gio_now();
            step = m == GIO || m == IKN ? search_inside(&o, &s, step) : search_outside(&o, &s, step);
            shmem_barrier_all();
            seconds += gio_now() - began;
            same &= search_is_right(&s, root, s.distance);
        }
        gio_close(&o);
        if (turn > 0) right = gio_result(&o, "search", same, seconds / (double)searches);
    }
    shmem_finalize();
    return !right;
}
