/* The grid of jacobi2d.c and of ../device/gpu_jacobi.cu: its first values, its halos, when it ends, and a serial
 * solution.
 *
 * Halos. Row 1 of the next iteration goes to the upper neighbour's lower halo as soon as it is computed, with the
 * iteration's number as signal, and likewise below. There are two halos a side, each with a signal of its own, used in
 * turns: a neighbour may be one iteration ahead, and two puts are not ordered among each other, so that one signal for
 * both could say t + 1 while the row of t has not come. A neighbour overwrites the halo of iteration t - 1 only after
 * it has got this PE's row of t, which was computed from it. For the same reason a row that was put has left before it
 * is overwritten two iterations later.
 *
 * Residual. Every few iterations, and at the last one, each PE tells all others the largest change of its points:
 * two places a PE, used in turns as the halos are. At the tolerance or below, all end. */
#ifndef JACOBI_H
#define JACOBI_H

#include "modes.h"

#include <math.h>

struct plan {
    long iterations, every;
    double tolerance;
};

struct grid {
    struct plan plan;
    long columns, rows, first, all; /* of this PE; number of its first row; of all PEs */
    size_t width;                   /* doubles from row to row */
    double *u[2];                   /* rows + 2, columns + 2 */
    double *halo[2][2];             /* symmetric, by iteration and side (0: above) */
    uint64_t *arrived[2];           /* symmetric, by iteration and side: the iteration whose row is in the halo */
    double *largest[2];             /* symmetric, by turn and PE: changes */
    uint64_t *told[2];              /* symmetric, by turn and PE: the iteration of the change */
    double *change;                 /* symmetric: the change of this PE's points, and of all */
    int me, pes;
};

#define JACOBI_OPTIONS(g)                                                                                        \
    {"--size", GIO_LONG, &(g).columns, 1, 65536}, {"--iterations", GIO_LONG, &(g).plan.iterations, 1, 1000000}, \
        {"--residual", GIO_LONG, &(g).plan.every, 1, 1000000}, {"--tolerance", GIO_REAL, &(g).plan.tolerance, 0, 1}

/* Whether iteration t ends with a residual, and where that goes. */
GIO_FN int grid_checks(const struct grid *g, long t) {
    return (t + 1) % g->plan.every == 0 || t + 1 == g->plan.iterations;
}
GIO_FN int grid_turn(const struct grid *g, long t) { return (int)(t / g->plan.every & 1); }
GIO_FN int grid_pe(const struct grid *g, int side) { return side == 0 ? g->me - 1 : g->me + 1; }
GIO_FN int grid_needs(const struct grid *g, int side) { return grid_pe(g, side) >= 0 && grid_pe(g, side) < g->pes; }
GIO_FN size_t grid_row_bytes(const struct grid *g) { return (size_t)(g->columns + 2) * sizeof(double); }

/* After gio_init: sizes, and symmetric memory. `all`: rows of all PEs. */
static inline void grid_begin(struct grid *g, long all) {
    g->me = gio_me;
    g->pes = gio_pes;
    g->all = all;
    g->first = 1 + all * g->me / g->pes;
    g->rows = all * (g->me + 1) / g->pes + 1 - g->first;
    g->width = ((size_t)g->columns + 2 + 7) & ~(size_t)7;
    for (int turn = 0; turn < 2; turn++) {
        for (int side = 0; side < 2; side++) g->halo[turn][side] = (double *)gio_symmetric(g->width * sizeof(double));
        g->arrived[turn] = (uint64_t *)gio_symmetric(2 * sizeof(uint64_t));
        g->largest[turn] = (double *)gio_symmetric((size_t)g->pes * sizeof(double));
        g->told[turn] = (uint64_t *)gio_symmetric((size_t)g->pes * sizeof(uint64_t));
    }
    g->change = (double *)gio_symmetric(2 * sizeof(double));
}

/* First values of row `row` of all, 0 and `all` + 1 being the boundary. */
static inline void grid_fill(const struct grid *g, double *u, long row) {
    for (long j = 0; j < g->columns + 2; j++) {
        uint64_t x = gio_mixed((uint64_t)row * 0x9e3779b97f4a7c15u + (uint64_t)j * 0xd1342543de82ef95u + 12345);
        u[j] = row == 0              ? 1.0
               : row == g->all + 1   ? 0.0
               : j == 0              ? 0.5
               : j == g->columns + 1 ? 0.25
                                     : (double)(x >> 11) * 0x1p-53;
    }
}
/* Before a run: this PE's rows with what is above and below, of both iterations, and the halos. */
static inline void grid_start(const struct grid *g, double *u, double *other) {
    for (long i = 0; i < g->rows + 2; i++) {
        grid_fill(g, u + (size_t)i * g->width, g->first + i - 1);
        if (other) memcpy(other + (size_t)i * g->width, u + (size_t)i * g->width, g->width * sizeof(double));
    }
    for (int turn = 0; turn < 2; turn++) {
        grid_fill(g, g->halo[turn][0], g->first - 1);
        grid_fill(g, g->halo[turn][1], g->first + g->rows);
        memset(g->arrived[turn], 0, 2 * sizeof(uint64_t));
        memset(g->told[turn], 0, (size_t)g->pes * sizeof(uint64_t));
    }
}

/* Waits for the halo of iteration t. */
GIO_FN void grid_await(const struct grid *g, long t, int side) {
    if (grid_needs(g, side)) hetmp_wait_until(&g->arrived[t & 1][side], SHMEM_CMP_GE, (uint64_t)t);
}
/* The host sends a row of iteration t. */
static inline void grid_send(const struct grid *g, const double *row, long t, int side, int blocking) {
    if (!grid_needs(g, side)) return;
    double *to = g->halo[t & 1][!side];
    uint64_t *signal = &g->arrived[t & 1][!side];
    (blocking ? shmem_putmem_signal : shmem_putmem_signal_nbi)(to, row, grid_row_bytes(g), signal, (uint64_t)t,
                                                               SHMEM_SIGNAL_SET, grid_pe(g, side));
}
/* The residual of all PEs, by the host. */
static inline double grid_residual(const struct grid *g, double mine) {
    g->change[0] = mine;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &g->change[1], &g->change[0], 1);
    return g->change[1];
}

/* One row; the largest change. Eight maxima, for vectors. */
static inline double grid_relax(double *__restrict to, const double *__restrict above, const double *__restrict at,
                                const double *__restrict below, long columns) {
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

/* What all modes must come to: the iterations done, the residual, and the rows of all PEs. */
struct solution {
    long done;
    double residual, *u;
};
static inline struct solution grid_serial(const struct grid *g) {
    struct solution s = {0, 0, NULL};
    size_t bytes = (size_t)(g->all + 2) * g->width * sizeof(double);
    double *u[2] = {(double *)gio_memory(bytes), (double *)gio_memory(bytes)};
    for (long i = 0; i < g->all + 2; i++) grid_fill(g, u[0] + (size_t)i * g->width, i);
    memcpy(u[1], u[0], bytes);
    for (int ends = 0; !ends; s.done++) {
        const double *from = u[s.done & 1];
        s.residual = 0;
        for (long i = 1; i <= g->all; i++) {
            size_t at = (size_t)i * g->width;
            double d = grid_relax(u[!(s.done & 1)] + at, from + at - g->width, from + at, from + at + g->width,
                                  g->columns);
            s.residual = d > s.residual ? d : s.residual;
        }
        ends = grid_checks(g, s.done) && (s.residual <= g->plan.tolerance || s.done + 1 == g->plan.iterations);
    }
    s.u = u[s.done & 1];
    free(u[!(s.done & 1)]);
    return s;
}
/* True if this PE's rows, after this many iterations, are those of the serial solution in every bit. */
static inline int grid_is_right(const struct grid *g, const struct solution *s, const double *u, long done,
                                double residual) {
    int right = done == s->done && memcmp(&residual, &s->residual, sizeof residual) == 0;
    for (long i = 1; i <= g->rows; i++)
        right &= memcmp(s->u + (size_t)(g->first + i - 1) * g->width, u + (size_t)i * g->width, grid_row_bytes(g)) == 0;
    return right;
}

#endif
