/* Jacobi relaxation on a square grid, rows split over PEs, a PE's rows over its workgroups.
 *
 *     oshrun -n PES jacobi2d [--mode gio|ikn|interk|overlap|all] [--size N] [--strong] [--iterations I]
 *                            [--threads T] [--residual K] [--tolerance X] [--launch US] [--rate R] [--edge NS]
 *                            [--request US] [--verify yes|no]
 *
 * The grid has N columns and N rows a PE; with --strong, N rows in all. Boundary values are fixed, the first values are
 * random (seeded). Every K iterations the largest change of any point, over all PEs, is the residual; at X or below,
 * the program ends. Modes: see gio.h.
 *
 * Each point is computed from the same values in the same order whoever computes it, so that the result does not depend
 * on mode, PEs or threads in any bit. It is compared with a serial solution (for grids of up to 2048 x 2048 points, or
 * with --verify yes). Standard output: the result, the same for every mode and number of threads; times go to standard
 * error, with the parts of a workgroup's time, the mean over workgroups and PEs. Status 0: right; 1: not; 2: bad use.
 *
 * --rate models a device that computes R million points a second on each PE: the rows at the edges are computed, since
 * neighbours get them, and for all others the time passes that the device would take. Then there is no result to
 * compare.
 *
 * What is not known of other machines can be tried: --edge lets NS pass for each point of a row that interk sends,
 * --request lets US pass until ikn's CPU thread has a request.
 *
 * Halos. Row 1 of the next iteration goes to the upper neighbour's lower halo as soon as it is computed, with the
 * iteration's number as signal, and likewise below. There are two halos a side, each with a signal of its own, used in
 * turns: a neighbour may be one iteration ahead, and two puts are not ordered among each other, so that one signal for
 * both could say t + 1 while the row of t has not come. A neighbour overwrites the halo of iteration t - 1 only after
 * it has got this PE's row of t, which was computed from it. For the same reason a row that was put has left before it
 * is overwritten two iterations later. */
#include "gio.h"

#include <math.h>

struct grid {
    long columns, rows, first, all; /* of this PE; number of its first row; of all PEs */
    double second_a_row;            /* of a modelled device; 0: rows are computed */
    /* seconds that a row costs when it is sent between kernels, beside what that takes */
    double edge;
    size_t width;                   /* doubles from row to row */
    double *u[2];                   /* rows + 2, columns + 2 */
    double *halo[2][2];             /* by iteration and side (0: above): symmetric */
    uint64_t *arrived[2];           /* by iteration and side: the iteration whose row is in the halo */
    int me, pes;
};

struct residuals {
    double *values;    /* by turn and PE: symmetric */
    uint64_t *arrived; /* the same */
    double *mine, *most;
};

static double value_at(long row, long column) {
    uint64_t x = (uint64_t)row * 0x9e3779b97f4a7c15u + (uint64_t)column * 0xd1342543de82ef95u + 12345;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 29;
    x *= 0xd6e8feb86659fd93u;
    return (double)(x >> 11) * 0x1p-53;
}

/* First values of row `row` of all, 0 and `all` + 1 being the boundary. */
static void fill(double *u, long row, long all, long columns) {
    for (long j = 0; j < columns + 2; j++)
        u[j] = row == 0 ? 1.0 : row == all + 1 ? 0.0 : j == 0 ? 0.5 : j == columns + 1 ? 0.25 : value_at(row, j);
}

/* One row; the largest change. Eight maxima, for vectors. */
static double relax(double *restrict to, const double *restrict above, const double *restrict at,
                    const double *restrict below, long columns) {
    double most[8] = {0};
    long j = 1;
    for (; j + 8 <= columns + 1; j += 8)
        for (int k = 0; k < 8; k++) {
            double v = 0.25 * ((above[j + k] + below[j + k]) + (at[j + k - 1] + at[j + k + 1]));
            double d = fabs(v - at[j + k]);
            to[j + k] = v;
            most[k] = d > most[k] ? d : most[k];
        }
    for (; j <= columns; j++) {
        double v = 0.25 * ((above[j] + below[j]) + (at[j - 1] + at[j + 1]));
        double d = fabs(v - at[j]);
        to[j] = v;
        most[0] = d > most[0] ? d : most[0];
    }
    for (int k = 1; k < 8; k++) most[0] = most[k] > most[0] ? most[k] : most[0];
    return most[0];
}

static double *row_of(const struct grid *g, int turn, long i) { return g->u[turn] + (size_t)i * g->width; }

/* Row i of iteration t + 1. */
static double relax_row(const struct grid *g, long t, long i) {
    int now = (int)(t & 1);
    const double *above = i == 1 && g->me > 0 ? g->halo[now][0] : row_of(g, now, i - 1);
    const double *below = i == g->rows && g->me + 1 < g->pes ? g->halo[now][1] : row_of(g, now, i + 1);
    double *to = row_of(g, !now, i);
    return relax(to, above, row_of(g, now, i), below, g->columns);
}

/* Rows from `lo` to `hi`, none of which a neighbour gets; the largest change. */
static double relax_rows(const struct grid *g, long t, long lo, long hi, int workgroups) {
    double most = 0, d;
    if (g->second_a_row > 0) {
        /* The workgroups share the device: each takes as long for its part as the device does for that of all. */
        if (hi >= lo) gio_pass(gio_now() + g->second_a_row * (double)(hi - lo + 1) * workgroups);
        return INFINITY;
    }
    for (long i = lo; i <= hi; i++) {
        d = relax_row(g, t, i);
        most = d > most ? d : most;
    }
    return most;
}

static int needs(const struct grid *g, int side) { return side == 0 ? g->me > 0 : g->me + 1 < g->pes; }

/* Waits for the halo of iteration t. */
static void await_halo(const struct grid *g, long t, int side) {
    if (needs(g, side)) hetmp_wait_until(&g->arrived[t & 1][side], SHMEM_CMP_GE, (uint64_t)t);
}

static size_t row_bytes(const struct grid *g) { return (size_t)(g->columns + 2) * sizeof(double); }

/* Sends the row of iteration t at `side` from inside of a kernel. */
static void send_inside(struct gio *o, const struct grid *g, int w, long t, int side) {
    if (!needs(g, side)) return;
    int turn = (int)(t & 1);
    gio_put_signal(o, w, side == 0 ? g->me - 1 : g->me + 1, g->halo[turn][!side],
                   row_of(g, turn, side == 0 ? 1 : g->rows), row_bytes(g), &g->arrived[turn][!side], (uint64_t)t);
}

/* The same from the main thread. */
static void send_outside(const struct grid *g, long t, int side, int blocking) {
    if (!needs(g, side)) return;
    int turn = (int)(t & 1), pe = side == 0 ? g->me - 1 : g->me + 1;
    double *to = g->halo[turn][!side], *from = row_of(g, turn, side == 0 ? 1 : g->rows);
    uint64_t *signal = &g->arrived[turn][!side];
    if (blocking && g->edge > 0) gio_pass(gio_now() + g->edge);
    if (blocking) shmem_putmem_signal(to, from, row_bytes(g), signal, (uint64_t)t, SHMEM_SIGNAL_SET, pe);
    else shmem_putmem_signal_nbi(to, from, row_bytes(g), signal, (uint64_t)t, SHMEM_SIGNAL_SET, pe);
}

static double largest(const double *values, int n, int stride) {
    double most = 0;
    for (int i = 0; i < n; i++) most = values[i * stride] > most ? values[i * stride] : most;
    return most;
}

struct plan {
    long iterations, every;
    double tolerance;
    int threads;
};

#define APART 8 /* doubles on a cache line */

/* Communication from inside: one kernel for all iterations. Returns iterations done. */
static long solve_inside(struct gio *o, struct grid *g, struct residuals *r, const struct plan *plan, double *part,
                         double *residual, struct gio_parts *parts) {
    long done = plan->iterations;
    double last = INFINITY, began = gio_now();
    gio_launch(o);
    gio_part(&began, &parts[0].launch);
#pragma omp parallel num_threads(plan->threads)
    {
        int w = omp_get_thread_num(), n = omp_get_num_threads();
        struct gio_parts spent = {.launch = w == 0 ? parts[0].launch : 0};
        double since = gio_now();
        long lo = 1 + g->rows * w / n, hi = g->rows * (w + 1) / n;
        int top = lo == 1 && hi >= 1, bottom = hi == g->rows && hi >= lo;
        for (long t = 0; t < plan->iterations; t++) {
            double most = 0, d;
            if (top) {
                await_halo(g, t, 0);
                if (g->rows == 1) await_halo(g, t, 1);
                gio_part(&since, &spent.wait);
                most = relax_row(g, t, 1);
                gio_part(&since, &spent.compute);
                send_inside(o, g, w, t + 1, 0);
                if (g->rows == 1) send_inside(o, g, w, t + 1, 1);
                gio_ring(o, w);
                gio_part(&since, &spent.post);
            }
            if (bottom && g->rows > 1) {
                await_halo(g, t, 1);
                gio_part(&since, &spent.wait);
                d = relax_row(g, t, g->rows);
                most = d > most ? d : most;
                gio_part(&since, &spent.compute);
                send_inside(o, g, w, t + 1, 1);
                gio_ring(o, w);
                gio_part(&since, &spent.post);
            }
            d = relax_rows(g, t, lo + top, hi - bottom, n);
            most = d > most ? d : most;
            gio_part(&since, &spent.compute);
            part[((t & 1) * n + w) * APART] = most;
#pragma omp barrier
            gio_part(&since, &spent.meet);
            if ((t + 1) % plan->every != 0 && t + 1 != plan->iterations) continue;
            if (w == 0) {
                /* Each PE tells every other one; two places, used in turns as the halos are. */
                long turn = (t + 1) / plan->every & 1;
                if (t + 1 == plan->iterations && (t + 1) % plan->every != 0) turn = !turn;
                double here = largest(part + (t & 1) * n * APART, n, APART);
                uint64_t bits;
                memcpy(&bits, &here, sizeof bits);
                double *values = r->values + turn * g->pes;
                uint64_t *arrived = r->arrived + turn * g->pes;
                for (int pe = 0; pe < g->pes; pe++)
                    if (pe != g->me)
                        gio_p64_signal(o, w, pe, &values[g->me], bits, &arrived[g->me], (uint64_t)t + 1);
                gio_ring(o, w);
                values[g->me] = here;
                for (int pe = 0; pe < g->pes; pe++)
                    if (pe != g->me) hetmp_wait_until(&arrived[pe], SHMEM_CMP_GE, (uint64_t)t + 1);
                last = largest(values, g->pes, 1);
                if (last <= plan->tolerance) done = t + 1;
            }
#pragma omp barrier
            gio_part(&since, &spent.meet);
            if (done == t + 1) break;
        }
        gio_quiet(o, w);
        gio_part(&since, &spent.post);
        parts[w] = spent;
    }
    *residual = last;
    return done;
}

/* Communication between kernels. */
static long solve_outside(struct gio *o, struct grid *g, struct residuals *r, const struct plan *plan, double *part,
                          double *residual, struct gio_parts *parts) {
    int overlap = o->mode == OVERLAP;
    struct gio_parts *spent = &parts[0]; /* the main thread's: its kernels are its computation */
    double since = gio_now();
    for (long t = 0; t < plan->iterations; t++) {
        int n = plan->threads;
        double edge = 0;
        await_halo(g, t, 0);
        await_halo(g, t, 1);
        gio_part(&since, &spent->wait);
        if (overlap) {
            double first = 0, second = 0;
            gio_launch(o);
            gio_part(&since, &spent->launch);
#pragma omp parallel num_threads(n > 1 ? 2 : 1)
            {
                if (omp_get_thread_num() == 0) first = relax_row(g, t, 1);
                if (omp_get_thread_num() == omp_get_num_threads() - 1 && g->rows > 1) second = relax_row(g, t, g->rows);
            }
            edge = first > second ? first : second;
            gio_part(&since, &spent->compute);
            send_outside(g, t + 1, 0, 0);
            send_outside(g, t + 1, 1, 0);
            gio_part(&since, &spent->post);
        }
        gio_launch(o);
        gio_part(&since, &spent->launch);
#pragma omp parallel num_threads(n)
        {
            int w = omp_get_thread_num(), threads = omp_get_num_threads();
            long lo = 1 + g->rows * w / threads, hi = g->rows * (w + 1) / threads;
            int top = lo == 1 && hi >= 1, bottom = hi == g->rows && hi >= lo && g->rows > 1;
            double most = 0, d;
            if (top && !overlap) most = relax_row(g, t, 1);
            d = relax_rows(g, t, lo + top, hi - bottom, threads);
            most = d > most ? d : most;
            d = bottom && !overlap ? relax_row(g, t, g->rows) : 0;
            part[w * APART] = d > most ? d : most;
        }
        gio_part(&since, &spent->compute);
        if (!overlap) {
            send_outside(g, t + 1, 0, 1);
            send_outside(g, t + 1, 1, 1);
        }
        shmem_quiet();
        gio_part(&since, &spent->post);
        if ((t + 1) % plan->every == 0 || t + 1 == plan->iterations) {
            double here = largest(part, n, APART);
            *r->mine = here > edge ? here : edge;
            shmem_double_max_reduce(SHMEM_TEAM_WORLD, r->most, r->mine, 1);
            *residual = *r->most;
            gio_part(&since, &spent->meet);
            if (*residual <= plan->tolerance) return t + 1;
        }
    }
    return plan->iterations;
}

static void start(struct grid *g) {
    for (long i = 0; i < g->rows + 2; i++) {
        fill(row_of(g, 0, i), g->first + i - 1, g->all, g->columns);
        fill(row_of(g, 1, i), g->first + i - 1, g->all, g->columns);
    }
    for (int turn = 0; turn < 2; turn++) {
        fill(g->halo[turn][0], g->first - 1, g->all, g->columns);
        fill(g->halo[turn][1], g->first + g->rows, g->all, g->columns);
    }
    for (int turn = 0; turn < 2; turn++) memset(g->arrived[turn], 0, 2 * sizeof(uint64_t));
}

/* True if this PE's rows are those of a serial solution after as many iterations. */
static int is_right(const struct grid *g, long iterations, double residual) {
    size_t cells = (size_t)(g->all + 2) * g->width;
    double *u[2] = {calloc(cells, sizeof(double)), calloc(cells, sizeof(double))}, most = 0;
    if (!u[0] || !u[1]) gio_die("--size %ld: no memory for the serial solution (expected --verify no)", g->columns);
    for (int turn = 0; turn < 2; turn++)
        for (long i = 0; i < g->all + 2; i++) fill(u[turn] + (size_t)i * g->width, i, g->all, g->columns);
    for (long t = 0; t < iterations; t++) {
        const double *from = u[t & 1];
        double *to = u[!(t & 1)];
        most = 0;
        for (long i = 1; i <= g->all; i++) {
            size_t at = (size_t)i * g->width;
            double d = relax(to + at, from + at - g->width, from + at, from + at + g->width, g->columns);
            most = d > most ? d : most;
        }
    }
    const double *serial = u[iterations & 1];
    int right = memcmp(&most, &residual, sizeof most) == 0;
    for (long i = 1; i <= g->rows; i++)
        right &= memcmp(serial + (size_t)(g->first + i - 1) * g->width, row_of(g, (int)(iterations & 1), i),
                        row_bytes(g)) == 0;
    free(u[0]);
    free(u[1]);
    return right;
}

/* The parts of the time, their mean over workgroups and PEs. */
static void show_parts(const struct grid *g, int mode, const struct gio_parts *parts, int workgroups, double *mine,
                       double *sums) {
    memset(mine, 0, 5 * sizeof *mine);
    for (int w = 0; w < workgroups; w++) {
        double all[] = {parts[w].launch, parts[w].compute, parts[w].post, parts[w].wait, parts[w].meet};
        for (int k = 0; k < 5; k++) mine[k] += all[k];
    }
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, mine, 5);
    if (g->me != 0) return;
    double each = 1.0 / (g->pes * workgroups);
    fprintf(stderr, "parts jacobi2d %s launch %.6f compute %.6f post %.6f wait %.6f meet %.6f\n", gio_modes[mode],
            each * sums[0], each * sums[1], each * sums[2], each * sums[3], each * sums[4]);
}

static void *symmetric(size_t bytes) {
    void *memory = shmem_calloc(bytes, 1);
    if (!memory) gio_die("symmetric heap: %zu more bytes (expected a larger SHMEM_SYMMETRIC_SIZE)", bytes);
    return memory;
}

int main(int argc, char **argv) {
    int mode = 4, strong = 0, verify = -1;
    double rate = 0, edge = 0;
    struct plan plan = {.iterations = 100, .every = 10, .tolerance = 0, .threads = omp_get_max_threads()};
    struct grid g = {.columns = 256};
    struct gio o = {.launch = 0};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--strong") == 0) {
            strong = 1;
            continue;
        }
        i++;
        if (strcmp(name, "--mode") == 0) mode = gio_mode_of(value);
        else if (strcmp(name, "--size") == 0) g.columns = gio_number(name, value, 1, 65536);
        else if (strcmp(name, "--iterations") == 0) plan.iterations = gio_number(name, value, 1, 1000000);
        else if (strcmp(name, "--threads") == 0) plan.threads = (int)gio_number(name, value, 1, 1024);
        else if (strcmp(name, "--residual") == 0) plan.every = gio_number(name, value, 1, 1000000);
        else if (strcmp(name, "--tolerance") == 0) plan.tolerance = gio_real(name, value, 0, 1);
        else if (strcmp(name, "--launch") == 0) o.launch = 1e-6 * gio_real(name, value, 0, 10000);
        else if (strcmp(name, "--edge") == 0) edge = 1e-9 * gio_real(name, value, 0, 1e6);
        else if (strcmp(name, "--request") == 0) o.request = 1e-6 * gio_real(name, value, 0, 10000);
        else if (strcmp(name, "--rate") == 0) rate = 1e6 * gio_real(name, value, 0, 1e9);
        else if (strcmp(name, "--verify") == 0 && value && strcmp(value, "yes") == 0) verify = 1;
        else if (strcmp(name, "--verify") == 0 && value && strcmp(value, "no") == 0) verify = 0;
        else
            gio_die("argument %s %s: unknown (expected --mode, --size, --strong, --iterations, --threads, --residual, "
                    "--tolerance, --launch, --rate, "
                    "--edge, --request or --verify yes|no)",
                    name, value ? value : "");
    }
    if (rate > 0 && verify > 0) gio_die("--verify yes: with --rate nothing is computed that could be verified");
    if (rate > 0) verify = 0, g.second_a_row = (double)g.columns / rate;
    g.edge = edge * (double)g.columns;
    omp_set_dynamic(0);
    gio_init();
    g.me = shmem_my_pe();
    g.pes = shmem_n_pes();
    if (strong && g.columns < g.pes)
        gio_die("--size %ld: not usable (expected at least a row for each of %d PEs)", g.columns, g.pes);
    g.all = strong ? g.columns : g.columns * g.pes;
    g.first = 1 + g.all * g.me / g.pes;
    g.rows = g.all * (g.me + 1) / g.pes + 1 - g.first;
    g.width = ((size_t)g.columns + 2 + 7) & ~(size_t)7;
    if (verify < 0) verify = g.all * g.columns <= 2048L * 2048;
    for (int turn = 0; turn < 2; turn++) {
        g.u[turn] = aligned_alloc(64, (size_t)(g.rows + 2) * g.width * sizeof(double));
        if (!g.u[turn]) gio_die("--size %ld: no memory", g.columns);
        for (int side = 0; side < 2; side++) g.halo[turn][side] = symmetric(g.width * sizeof(double));
    }
    for (int turn = 0; turn < 2; turn++) g.arrived[turn] = symmetric(2 * sizeof(uint64_t));
    struct residuals r = {.values = symmetric(2 * (size_t)g.pes * sizeof(double)),
                          .arrived = symmetric(2 * (size_t)g.pes * sizeof(uint64_t)),
                          .mine = symmetric(sizeof(double)),
                          .most = symmetric(sizeof(double))};
    double *part = aligned_alloc(64, 2 * (size_t)plan.threads * APART * sizeof(double));
    struct gio_parts *parts = aligned_alloc(GIO_LINE, (size_t)plan.threads * sizeof *parts);
    double *sums = symmetric(10 * sizeof *sums);
    if (!part || !parts) gio_die("--threads %d: no memory", plan.threads);
    memset(part, 0, 2 * (size_t)plan.threads * APART * sizeof(double));
    if (g.me == 0)
        printf("jacobi2d %ld rows of %ld on %d PEs, %ld iterations\n", g.all, g.columns, g.pes, plan.iterations);

    int *bad = symmetric(2 * sizeof *bad);
    /* Once more at the beginning: the first one finds cold caches, and threads that have not started. */
    const int first_mode = mode == 4 ? 0 : mode, last_mode = mode == 4 ? OVERLAP : mode;
    for (int turn = first_mode - 1; turn <= last_mode; turn++) {
        int warming = turn < first_mode, m = warming ? first_mode : turn;
        double residual = 0;
        start(&g);
        memset(r.arrived, 0, 2 * (size_t)g.pes * sizeof(uint64_t));
        gio_open(&o, (enum gio_mode)m, plan.threads, 64);
        /* The first region starts the threads. */
#pragma omp parallel num_threads(plan.threads)
        { (void)omp_get_thread_num(); }
        shmem_barrier_all();
        double began = gio_now();
        struct plan now = plan;
        if (warming && now.iterations > 3) now.iterations = 3;
        memset(parts, 0, (size_t)plan.threads * sizeof *parts);
        int inside = m == GIO || m == IKN;
        long done = (inside ? solve_inside : solve_outside)(&o, &g, &r, &now, part, &residual, parts);
        shmem_barrier_all();
        double seconds = gio_now() - began;
        gio_close(&o);
        if (warming) continue;
        bad[0] = verify && !is_right(&g, done, residual);
        shmem_int_max_reduce(SHMEM_TEAM_WORLD, &bad[1], &bad[0], 1);
        if (g.me == 0) {
            printf("%s\n", bad[1] ? "wrong" : verify ? "right" : "not verified");
            if (m == last_mode) printf("%ld iterations, residual %.17g\n", done, residual);
            fprintf(stderr, "time jacobi2d %s pes %d threads %d seconds %.6f Mpoints %.2f\n", gio_modes[m], g.pes,
                    plan.threads, seconds, 1e-6 * (double)g.all * (double)g.columns * (double)done / seconds);
        }
        show_parts(&g, m, parts, inside ? plan.threads : 1, sums, sums + 5);
        if (bad[1]) break;
    }
    int status = bad[1];
    shmem_finalize();
    return status;
}
