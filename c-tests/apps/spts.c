/* Solves L x = b for a sparse lower triangular L, its rows dealt to PEs in blocks.
 *
 *     oshrun -n PES spts [--mode gio|ikn|interk|overlap|all] [--matrix FILE | --road N | --banded N] [--band B]
 *                        [--each E] [--seed S] [--block R] [--threads T] [--solves K] [--launch US]
 *                        [--uncached] [--levels]
 *
 * gio and ikn solve without synchronisation (after Liu, Li, Hogg, Duff and Vinter, "A synchronization-free algorithm
 * for parallel sparse triangular solves", Euro-Par 2016): a workgroup takes its rows in an order in which each comes
 * after those it needs, waits for each value that is not solved yet, and pushes the solved one to the PEs that need it,
 * value and flag in one descriptor. No deadlock: whoever has the first unsolved row of all waits for nothing. interk
 * and overlap go by level sets: the rows that need only earlier levels are one kernel, and the main thread exchanges
 * values between two kernels (gio.h).
 *
 * --uncached: values that travel between PEs are taken out of the CPU's caches after each use, by their writer and by
 * their readers (gio and ikn only), as where a device has its communication buffers in memory that it does not cache.
 *
 * Rows are dealt in blocks of R in turns; without --block each PE has one: what a road network wants, whose regions
 * hang together, and what a narrow band does not, whose rows are one chain.
 *
 * A row is summed up in the same order everywhere, so that the solution is that of a serial solve in every bit, which
 * is checked. Standard output: the result; times go to standard error. Status 0: right; 1: not; 2: bad use. */
#include "gio.h"
#include "matrix.h"

struct problem {
    struct matrix m;
    double *b;
    double *x;        /* symmetric: every PE has room for all of it */
    uint64_t *solved; /* symmetric: the solve in which x is right */
    uint64_t *needed; /* by row: the PEs that need its value */
    int *owner;
    int me, pes;
    long *mine, mines; /* this PE's rows, rising */
    /* What row k of level_row needs from other PEs: foreign[foreign_start[k]] and on. */
    size_t *foreign_start;
    int *foreign;
    /* Level sets: this PE's rows by level, of each those that others need first. */
    long levels, *level_start, *level_sent, *level_row;
    unsigned char *level_talks; /* somebody sends something */
};

static int uncached;

/* Takes a cache line out of all caches, where --uncached asks for that. */
static void drop(const void *at) {
#if defined(__x86_64__)
    if (uncached) __builtin_ia32_clflush(at);
#else
    (void)at;
#endif
}

static double solve_row(const struct problem *p, long i) {
    double sum = p->b[i];
    for (size_t k = p->m.start[i]; k < p->m.start[i + 1]; k++) sum -= p->m.value[k] * p->x[p->m.column[k]];
    return sum / p->m.diagonal[i];
}

#define BATCH 8 /* pushed values that share a doorbell, at most */

/* What workgroup w pushed is announced before it waits: somebody may wait for that. */
static void await_value(struct gio *o, const struct problem *p, int w, int j, uint64_t epoch) {
    if (__atomic_load_n(&p->solved[j], __ATOMIC_ACQUIRE) >= epoch) return;
    gio_ring(o, w);
    hetmp_wait_until(&p->solved[j], SHMEM_CMP_GE, epoch);
}

static void solve_inside(struct gio *o, struct problem *p, int threads, uint64_t epoch) {
    gio_launch(o);
#pragma omp parallel num_threads(threads)
    {
        int w = omp_get_thread_num(), n = omp_get_num_threads();
        int waiting = 0;
        for (long k = w; k < p->mines; k += n) {
            long i = p->level_row[k];
            /* A PE's only workgroup has its own values by its order; one of several waits for theirs, too. */
            if (n == 1)
                for (size_t e = p->foreign_start[k]; e < p->foreign_start[k + 1]; e++)
                    await_value(o, p, w, p->foreign[e], epoch);
            else
                for (size_t e = p->m.start[i]; e < p->m.start[i + 1]; e++) await_value(o, p, w, p->m.column[e], epoch);
            double x = solve_row(p, i);
            uint64_t bits, to = p->needed[i];
            memcpy(&bits, &x, sizeof bits);
            if (uncached)
                for (size_t e = p->foreign_start[k]; e < p->foreign_start[k + 1]; e++) {
                    drop(&p->x[p->foreign[e]]);
                    drop(&p->solved[p->foreign[e]]);
                }
            if (to) {
                for (uint64_t pe = 0, left = to; left; pe++, left >>= 1)
                    if (left & 1) gio_p64_signal(o, w, (int)pe, &p->x[i], bits, &p->solved[i], epoch);
                if (++waiting % BATCH == 0) gio_ring(o, w);
            }
            p->x[i] = x;
            if (to) drop(&p->x[i]);
            if (n > 1) __atomic_store_n(&p->solved[i], epoch, __ATOMIC_RELEASE);
        }
        gio_quiet(o, w);
    }
}

static void solve_rows(struct gio *o, struct problem *p, int threads, long from, long to) {
    gio_launch(o);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long k = from; k < to; k++) p->x[p->level_row[k]] = solve_row(p, p->level_row[k]);
}

static void send_rows(struct problem *p, long from, long to) {
    for (long k = from; k < to; k++) {
        long i = p->level_row[k];
        uint64_t pes = p->needed[i];
        for (int pe = 0; pes; pe++, pes >>= 1)
            if (pes & 1) shmem_putmem_nbi(&p->x[i], &p->x[i], sizeof *p->x, pe);
    }
}

static void solve_outside(struct gio *o, struct problem *p, int threads) {
    for (long level = 0; level < p->levels; level++) {
        long from = p->level_start[level], sent = p->level_sent[level], to = p->level_start[level + 1];
        if (o->mode == OVERLAP && sent > from && to > sent) {
            solve_rows(o, p, threads, from, sent);
            send_rows(p, from, sent);
            solve_rows(o, p, threads, sent, to);
        } else {
            if (to > from) solve_rows(o, p, threads, from, to);
            send_rows(p, from, sent);
        }
        if (p->level_talks[level]) shmem_barrier_all();
    }
}

/* Who owns what and who needs what; the level sets. */
static void divide(struct problem *p, long block) {
    long n = p->m.n, *level = gio_memory((size_t)n * sizeof *level);
    p->owner = gio_memory((size_t)n * sizeof *p->owner);
    p->needed = gio_memory((size_t)n * sizeof *p->needed);
    p->mine = gio_memory((size_t)n * sizeof *p->mine);
    for (long i = 0; i < n; i++) {
        p->owner[i] = (int)(i / block % p->pes);
        if (p->owner[i] == p->me) p->mine[p->mines++] = i;
    }
    for (long i = 0; i < n; i++)
        for (size_t k = p->m.start[i]; k < p->m.start[i + 1]; k++) {
            int j = p->m.column[k];
            if (p->owner[j] != p->owner[i]) p->needed[j] |= (uint64_t)1 << p->owner[i];
            if (level[j] + 1 > level[i]) level[i] = level[j] + 1;
        }
    for (long i = 0; i < n; i++)
        if (level[i] + 1 > p->levels) p->levels = level[i] + 1;
    p->level_start = gio_memory(((size_t)p->levels + 2) * sizeof *p->level_start);
    p->level_sent = gio_memory(((size_t)p->levels + 1) * sizeof *p->level_sent);
    p->level_row = gio_memory((size_t)p->mines * sizeof *p->level_row);
    p->level_talks = gio_memory(((size_t)p->levels + 1) * 1);
    for (long i = 0; i < n; i++)
        if (p->needed[i]) p->level_talks[level[i]] = 1;
    for (long k = 0; k < p->mines; k++) p->level_start[level[p->mine[k]] + 1]++;
    for (long l = 0; l < p->levels; l++) p->level_start[l + 1] += p->level_start[l];
    long *next = gio_memory(((size_t)p->levels + 1) * sizeof *next);
    memcpy(next, p->level_start, (size_t)p->levels * sizeof *next);
    for (int sent = 1; sent >= 0; sent--) {
        for (long k = 0; k < p->mines; k++) {
            long i = p->mine[k];
            if ((p->needed[i] != 0) == sent) p->level_row[next[level[i]]++] = i;
        }
        if (sent) memcpy(p->level_sent, next, (size_t)p->levels * sizeof *next);
    }
    p->foreign_start = gio_memory(((size_t)p->mines + 1) * sizeof *p->foreign_start);
    for (int storing = 0; storing < 2; storing++) {
        size_t have = 0;
        if (storing) p->foreign = gio_memory(p->foreign_start[p->mines] * sizeof *p->foreign);
        for (long k = 0; k < p->mines; k++) {
            long i = p->level_row[k];
            for (size_t e = p->m.start[i]; e < p->m.start[i + 1]; e++) {
                if (p->owner[p->m.column[e]] == p->me) continue;
                if (storing) p->foreign[have] = p->m.column[e];
                have++;
            }
            p->foreign_start[k + 1] = have;
        }
    }
    free(next);
    free(level);
}

int main(int argc, char **argv) {
    int mode = GIO_MODES, threads = omp_get_max_threads(), levels = 0, right = 1;
    long block = 0, solves = 1;
    struct matrix_choice choice = {.band = 64, .each = 4, .seed = 1};
    struct gio o = {.launch = 0};
    GIO_OPTIONS(argc, argv, {"--mode", GIO_MODE, &mode, 0, OVERLAP}, MATRIX_OPTIONS(choice),
                {"--block", GIO_LONG, &block, 1, 100000000}, {"--threads", GIO_INT, &threads, 1, 1024},
                {"--solves", GIO_LONG, &solves, 1, 1000000}, {"--launch", GIO_REAL, &o.launch, 0, 10000},
                {"--uncached", GIO_FLAG, &uncached, 0, 0}, {"--levels", GIO_FLAG, &levels, 0, 0});
    o.launch *= 1e-6;
#if !defined(__x86_64__)
    if (uncached) gio_die("--uncached: not usable (expected x86_64)");
#endif
    struct problem p = {.m = matrix_chosen(choice, 10000)};
    omp_set_dynamic(0);
    gio_init();
    p.me = gio_me;
    p.pes = gio_pes;
    if (p.pes > 64) gio_die("PEs %d: out of range (expected 1 to 64)", p.pes);
    long n = p.m.n;
    divide(&p, block ? block : (n + p.pes - 1) / p.pes);
    p.x = gio_symmetric((size_t)n * sizeof *p.x);
    p.solved = gio_symmetric((size_t)n * sizeof *p.solved);
    p.b = gio_memory((size_t)n * sizeof *p.b);
    double *serial = gio_memory((size_t)n * sizeof *serial);
    uint64_t state = (uint64_t)choice.seed ^ 0xb;
    for (long i = 0; i < n; i++) p.b[i] = matrix_uniform(&state) - 0.5;
    double began = gio_now();
    double *symmetric_x = p.x;
    p.x = serial;
    for (long i = 0; i < n; i++) serial[i] = solve_row(&p, i);
    p.x = symmetric_x;
    double serial_seconds = gio_now() - began;
    long sent = 0;
    for (long i = 0; i < n; i++)
        for (uint64_t pes = p.needed[i]; pes; pes &= pes - 1) sent++;
    if (p.me == 0) {
        printf("spts %ld rows, %zu entries, %ld levels", n, p.m.start[n] + (size_t)n, p.levels);
        printf(levels ? ", %ld values sent\n" : "\n", sent);
        fprintf(stderr, "time spts serial pes 1 threads 1 seconds %.6f\n", serial_seconds);
    }

    uint64_t epoch = 0;
    enum gio_mode m;
    for (int turn = 0; right && gio_nth(mode, turn, &m); turn++) {
        double seconds = 0;
        int same = 1;
        gio_open(&o, m, threads, 256);
#pragma omp parallel num_threads(threads)
        { (void)omp_get_thread_num(); }
        for (long solve = 0; solve < (turn == 0 ? 1 : solves); solve++) {
            for (long i = 0; i < n; i++) p.x[i] = NAN;
            epoch++;
            shmem_barrier_all();
            began = gio_now();
            if (m == GIO || m == IKN) solve_inside(&o, &p, threads, epoch);
            else solve_outside(&o, &p, threads);
            shmem_barrier_all();
            seconds += gio_now() - began;
            for (long k = 0; k < p.mines; k++)
                same &= memcmp(&p.x[p.mine[k]], &serial[p.mine[k]], sizeof *serial) == 0;
        }
        gio_close(&o);
        if (turn > 0) right = gio_result(&o, "spts", same, seconds / (double)solves);
    }
    shmem_finalize();
    return !right;
}
