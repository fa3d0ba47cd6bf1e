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
 * --request lets US pass until ikn's CPU thread has a request. */
#include "jacobi.h"
#include "gio.h"

/* A modelled device. */
static double second_a_row; /* 0: rows are computed */
static double edge_seconds; /* that a row costs when it is sent between kernels, besides what that takes */

static double *row_of(const struct grid *g, int turn, long i) { return g->u[turn] + (size_t)i * g->width; }

/* Row i of iteration t + 1. */
static double relax_row(const struct grid *g, long t, long i) {
    int now = (int)(t & 1);
    const double *above = i == 1 && g->me > 0 ? g->halo[now][0] : row_of(g, now, i - 1);
    const double *below = i == g->rows && g->me + 1 < g->pes ? g->halo[now][1] : row_of(g, now, i + 1);
    double *to = row_of(g, !now, i);
    return grid_relax(to, above, row_of(g, now, i), below, g->columns);
}

/* Rows from `lo` to `hi`, none of which a neighbour gets; the largest change. */
static double relax_rows(const struct grid *g, long t, long lo, long hi, int workgroups) {
    double most = 0, d;
    if (second_a_row > 0) {
        /* The workgroups share the device: each takes as long for its part as the device does for that of all. */
        if (hi >= lo) gio_pass(gio_now() + second_a_row * (double)(hi - lo + 1) * workgroups);
        return INFINITY;
    }
    for (long i = lo; i <= hi; i++) {
        d = relax_row(g, t, i);
        most = d > most ? d : most;
    }
    return most;
}

/* The row of iteration t that the neighbour at `side` gets. */
static double *edge_row(const struct grid *g, long t, int side) {
    return row_of(g, (int)(t & 1), side == 0 ? 1 : g->rows);
}

/* Sends the row of iteration t at `side` from inside of a kernel. */
static void send_inside(struct gio *o, const struct grid *g, int w, long t, int side) {
    if (!grid_needs(g, side)) return;
    gio_put_signal(o, w, grid_pe(g, side), g->halo[t & 1][!side], edge_row(g, t, side), grid_row_bytes(g),
                   &g->arrived[t & 1][!side], (uint64_t)t);
}

static double largest(const double *values, int n, int stride) {
    double most = 0;
    for (int i = 0; i < n; i++) most = values[i * stride] > most ? values[i * stride] : most;
    return most;
}

#define APART 8 /* doubles on a cache line */

/* Communication from inside: one kernel for all iterations. Returns iterations done. */
static long solve_inside(struct gio *o, struct grid *g, double *part, double *residual, struct gio_parts *parts) {
    long done = g->plan.iterations;
    double last = INFINITY, began = gio_now();
    gio_launch(o);
    gio_part(&began, &parts[0].launch);
#pragma omp parallel num_threads(o->workgroups)
    {
        int w = omp_get_thread_num(), n = omp_get_num_threads();
        struct gio_parts spent = {.launch = w == 0 ? parts[0].launch : 0};
        double since = gio_now();
        long lo = 1 + g->rows * w / n, hi = g->rows * (w + 1) / n;
        int top = lo == 1 && hi >= 1, bottom = hi == g->rows && hi >= lo;
        for (long t = 0; t < g->plan.iterations; t++) {
            double most = 0, d;
            if (top) {
                grid_await(g, t, 0);
                if (g->rows == 1) grid_await(g, t, 1);
                gio_part(&since, &spent.wait);
                most = relax_row(g, t, 1);
                gio_part(&since, &spent.compute);
                send_inside(o, g, w, t + 1, 0);
                if (g->rows == 1) send_inside(o, g, w, t + 1, 1);
                gio_ring(o, w);
                gio_part(&since, &spent.post);
            }
            if (bottom && g->rows > 1) {
                grid_await(g, t, 1);
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
            if (!grid_checks(g, t)) continue;
            if (w == 0) {
                double here = largest(part + (t & 1) * n * APART, n, APART), *values = g->largest[grid_turn(g, t)];
                uint64_t bits, *told = g->told[grid_turn(g, t)];
                memcpy(&bits, &here, sizeof bits);
                for (int pe = 0; pe < g->pes; pe++)
                    if (pe != g->me) gio_p64_signal(o, w, pe, &values[g->me], bits, &told[g->me], (uint64_t)t + 1);
                gio_ring(o, w);
                values[g->me] = here;
                for (int pe = 0; pe < g->pes; pe++)
                    if (pe != g->me) hetmp_wait_until(&told[pe], SHMEM_CMP_GE, (uint64_t)t + 1);
                last = largest(values, g->pes, 1);
                if (last <= g->plan.tolerance) done = t + 1;
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
static long solve_outside(struct gio *o, struct grid *g, double *part, double *residual, struct gio_parts *parts) {
    int overlap = o->mode == OVERLAP;
    struct gio_parts *spent = &parts[0]; /* the main thread's: its kernels are its computation */
    double since = gio_now();
    for (long t = 0; t < g->plan.iterations; t++) {
        int n = o->workgroups;
        double edge = 0;
        grid_await(g, t, 0);
        grid_await(g, t, 1);
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
            for (int side = 0; side < 2; side++) grid_send(g, edge_row(g, t + 1, side), t + 1, side, 0);
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
        for (int side = 0; side < 2 && !overlap; side++) {
            if (edge_seconds > 0 && grid_needs(g, side)) gio_pass(gio_now() + edge_seconds);
            grid_send(g, edge_row(g, t + 1, side), t + 1, side, 1);
        }
        shmem_quiet();
        gio_part(&since, &spent->post);
        if (grid_checks(g, t)) {
            double here = largest(part, n, APART);
            *residual = grid_residual(g, here > edge ? here : edge);
            gio_part(&since, &spent->meet);
            if (*residual <= g->plan.tolerance) return t + 1;
        }
    }
    return g->plan.iterations;
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

int main(int argc, char **argv) {
    int mode = GIO_MODES, threads = omp_get_max_threads(), strong = 0, verify = -1, right = 1;
    double rate = 0;
    const char *verifying = NULL;
    struct grid g = {.columns = 256, .plan = {.iterations = 100, .every = 10}};
    struct gio o = {.launch = 0};
    GIO_OPTIONS(argc, argv, {"--mode", GIO_MODE, &mode, 0, OVERLAP}, JACOBI_OPTIONS(g),
                {"--strong", GIO_FLAG, &strong, 0, 0}, {"--threads", GIO_INT, &threads, 1, 1024},
                {"--launch", GIO_REAL, &o.launch, 0, 10000}, {"--edge", GIO_REAL, &edge_seconds, 0, 1e6},
                {"--request", GIO_REAL, &o.request, 0, 10000}, {"--rate", GIO_REAL, &rate, 0, 1e9},
                {"--verify", GIO_TEXT, &verifying, 0, 0});
    if (verifying) {
        verify = strcmp(verifying, "yes") == 0;
        if (!verify && strcmp(verifying, "no") != 0) gio_die("--verify %s: not usable (expected yes or no)", verifying);
    }
    if (rate > 0 && verify > 0) gio_die("--verify yes: with --rate nothing is computed that could be verified");
    if (rate > 0) verify = 0, second_a_row = (double)g.columns / (1e6 * rate);
    o.launch *= 1e-6;
    o.request *= 1e-6;
    edge_seconds *= 1e-9 * (double)g.columns;
    omp_set_dynamic(0);
    gio_init();
    if (strong && g.columns < gio_pes)
        gio_die("--size %ld: not usable (expected at least a row for each of %d PEs)", g.columns, gio_pes);
    grid_begin(&g, strong ? g.columns : g.columns * gio_pes);
    if (verify < 0) verify = g.all * g.columns <= 2048L * 2048;
    for (int turn = 0; turn < 2; turn++) {
        g.u[turn] = aligned_alloc(64, (size_t)(g.rows + 2) * g.width * sizeof(double));
        if (!g.u[turn]) gio_die("--size %ld: no memory", g.columns);
    }
    double *part = aligned_alloc(64, 2 * (size_t)threads * APART * sizeof(double));
    struct gio_parts *parts = aligned_alloc(GIO_LINE, (size_t)threads * sizeof *parts);
    double *sums = gio_symmetric(10 * sizeof *sums);
    if (!part || !parts) gio_die("--threads %d: no memory", threads);
    memset(part, 0, 2 * (size_t)threads * APART * sizeof(double));
    if (g.me == 0)
        printf("jacobi2d %ld rows of %ld on %d PEs, %ld iterations\n", g.all, g.columns, g.pes, g.plan.iterations);
    struct solution serial = {.done = 0};
    if (verify) serial = grid_serial(&g);
    const struct plan plan = g.plan;
    enum gio_mode m;
    for (int turn = 0; right && gio_nth(mode, turn, &m); turn++) {
        double residual = 0;
        grid_start(&g, g.u[0], g.u[1]);
        gio_open(&o, m, threads, 64);
        /* The first region starts the threads. */
#pragma omp parallel num_threads(threads)
        { (void)omp_get_thread_num(); }
        shmem_barrier_all();
        double began = gio_now();
        g.plan = plan;
        if (turn == 0 && plan.iterations > 3) g.plan.iterations = 3;
        memset(parts, 0, (size_t)threads * sizeof *parts);
        int inside = m == GIO || m == IKN;
        long done = (inside ? solve_inside : solve_outside)(&o, &g, part, &residual, parts);
        shmem_barrier_all();
        double seconds = gio_now() - began;
        gio_close(&o);
        if (turn == 0) continue;
        right = gio_agree(!verify || grid_is_right(&g, &serial, g.u[done & 1], done, residual));
        if (g.me == 0) {
            printf("%s\n", !right ? "wrong" : verify ? "right" : "not verified");
            if (mode != GIO_MODES || m == OVERLAP) printf("%ld iterations, residual %.17g\n", done, residual);
            fprintf(stderr, "time jacobi2d %s pes %d threads %d seconds %.6f Mpoints %.2f\n", gio_modes[m], g.pes,
                    threads, seconds, 1e-6 * (double)g.all * (double)g.columns * (double)done / seconds);
        }
        show_parts(&g, m, parts, inside ? threads : 1, sums, sums + 5);
    }
    shmem_finalize();
    return !right;
}
