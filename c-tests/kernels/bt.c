/* Block tridiagonal solver: an implicit scheme for five coupled unknowns on a cube, by sweeps along x, y and z, each of
   which solves a line of 5x5 blocks a time. One parallel region a time step with six loops in it, barriers between
   them; the sweeps walk the arrays along different dimensions.
   The right-hand side is made so that a known field is the steady state: what is left of the error is the check.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { M = 5, LONGEST = 50 };

typedef double vec[M];
typedef double mat[M][M];

static int n; /* points of an edge, boundary included */
static vec *u, *rhs, *force, *flux[3];
static const double NU = 0.08, DT = 0.02, COUPLING = 0.05;
/* How the unknowns carry each other along x, y and z. */
static const mat CARRY[3] = {
    {{.5, .1, 0, 0, .1}, {.1, .4, .1, 0, 0}, {0, .1, .3, 0, 0}, {0, 0, 0, .3, .1}, {.1, 0, 0, .1, .5}},
    {{.3, 0, .1, 0, .1}, {0, .5, .1, 0, 0}, {.1, .1, .4, 0, 0}, {0, 0, 0, .5, .1}, {.1, 0, 0, .1, .3}},
    {{.4, 0, 0, .1, .1}, {0, .3, 0, .1, 0}, {0, 0, .5, .1, 0}, {.1, .1, .1, .4, 0}, {.1, 0, 0, 0, .4}},
};

static inline int at(int k, int j, int i)
{
    return (k * n + j) * n + i;
}

static inline int stride(int d)
{
    return d == 0 ? 1 : d == 1 ? n : n * n;
}

static void exact(int k, int j, int i, double *out)
{
    double x = (double)i / (n - 1), y = (double)j / (n - 1), z = (double)k / (n - 1);
    for (int m = 0; m < M; m++)
        out[m] = 1 + 0.3 * (m + 1) * x * (1 - 0.5 * y) + 0.2 * y * z + 0.1 * sin(2 * x + m) * z;
}

/* The flux along d of one point: carried and, weakly, multiplied. */
static inline void flux_of(int d, const double *from, double *out)
{
    for (int m = 0; m < M; m++) {
        double sum = COUPLING * from[m] * from[(m + d + 1) % M];
        for (int c = 0; c < M; c++)
            sum += CARRY[d][m][c] * from[c];
        out[m] = sum;
    }
}

static inline void flux_plane(int k)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            for (int d = 0; d < 3; d++)
                flux_of(d, u[at(k, j, i)], flux[d][at(k, j, i)]);
}

/* What changes the unknowns: diffusion less the fluxes' differences, plus the force. */
static inline void rhs_plane(int k)
{
    double h = 1.0 / (n - 1), half = 0.5 / h, second = NU / (h * h);
    for (int j = 1; j < n - 1; j++)
        for (int i = 1; i < n - 1; i++) {
            int p = at(k, j, i);
            for (int m = 0; m < M; m++) {
                double sum = force[p][m];
                for (int d = 0; d < 3; d++) {
                    int s = stride(d);
                    sum += second * (u[p + s][m] - 2 * u[p][m] + u[p - s][m]);
                    sum -= half * (flux[d][p + s][m] - flux[d][p - s][m]);
                }
                rhs[p][m] = DT * sum;
            }
        }
}

/* The derivative of `flux_of`, times `factor`, into `out`, with `diagonal` added on the diagonal. */
static inline void jacobian(int d, const double *from, double factor, double diagonal, mat out)
{
    for (int m = 0; m < M; m++)
        for (int c = 0; c < M; c++)
            out[m][c] = factor * CARRY[d][m][c];
    for (int m = 0; m < M; m++) {
        int c = (m + d + 1) % M;
        out[m][m] += factor * COUPLING * from[c] + diagonal;
        out[m][c] += factor * COUPLING * from[m];
    }
}

/* Solves `a` x = right, for a matrix and a vector of right-hand sides, in place. The blocks are dominated by their
   diagonals, so there is no pivoting. */
static inline void solve_block(mat a, mat many, double *one)
{
    for (int p = 0; p < M; p++) {
        double inverse = 1 / a[p][p];
        for (int c = p + 1; c < M; c++)
            a[p][c] *= inverse;
        for (int c = 0; c < M; c++)
            many[p][c] *= inverse;
        one[p] *= inverse;
        for (int r = 0; r < M; r++) {
            if (r == p)
                continue;
            double f = a[r][p];
            for (int c = p + 1; c < M; c++)
                a[r][c] -= f * a[p][c];
            for (int c = 0; c < M; c++)
                many[r][c] -= f * many[p][c];
            one[r] -= f * one[p];
        }
    }
}

/* Solves one line along d, whose first point is `start`: elimination forward, substitution backward. */
static inline void line(int d, int start)
{
    double h = 1.0 / (n - 1), half = 0.5 * DT / h, second = DT * NU / (h * h);
    int s = stride(d);
    mat after[LONGEST];
    memset(after[0], 0, sizeof after[0]);
    for (int q = 1; q < n - 1; q++) {
        int p = start + q * s;
        mat below, own;
        jacobian(d, u[p - s], -half, -second, below);
        jacobian(d, u[p + s], half, -second, after[q]);
        memset(own, 0, sizeof own);
        for (int m = 0; m < M; m++)
            own[m][m] = 1 + 2 * second;
        if (q > 1)
            for (int m = 0; m < M; m++)
                for (int c = 0; c < M; c++) {
                    rhs[p][m] -= below[m][c] * rhs[p - s][c];
                    for (int x = 0; x < M; x++)
                        own[m][x] -= below[m][c] * after[q - 1][c][x];
                }
        solve_block(own, after[q], rhs[p]);
    }
    for (int q = n - 3; q >= 1; q--) {
        int p = start + q * s;
        for (int m = 0; m < M; m++)
            for (int c = 0; c < M; c++)
                rhs[p][m] -= after[q][m][c] * rhs[p + s][c];
    }
}

static inline void x_plane(int k)
{
    for (int j = 1; j < n - 1; j++)
        line(0, at(k, j, 0));
}

static inline void y_plane(int k)
{
    for (int i = 1; i < n - 1; i++)
        line(1, at(k, 0, i));
}

static inline void z_plane(int j)
{
    for (int i = 1; i < n - 1; i++)
        line(2, at(0, j, i));
}

static inline void add_plane(int k)
{
    for (int j = 1; j < n - 1; j++)
        for (int i = 1; i < n - 1; i++)
            for (int m = 0; m < M; m++)
                u[at(k, j, i)][m] += rhs[at(k, j, i)][m];
}

static void step(void)
{
#pragma omp parallel
    {
#pragma omp for SCHED
        for (int k = 0; k < n; k++)
            flux_plane(k);
#pragma omp for SCHED
        for (int k = 1; k < n - 1; k++)
            rhs_plane(k);
#pragma omp for SCHED
        for (int k = 1; k < n - 1; k++)
            x_plane(k);
#pragma omp for SCHED
        for (int k = 1; k < n - 1; k++)
            y_plane(k);
#pragma omp for SCHED
        for (int j = 1; j < n - 1; j++)
            z_plane(j);
#pragma omp for SCHED nowait
        for (int k = 1; k < n - 1; k++)
            add_plane(k);
    }
}

static void serial_step(void)
{
    for (int k = 0; k < n; k++)
        flux_plane(k);
    for (int k = 1; k < n - 1; k++)
        rhs_plane(k);
    for (int k = 1; k < n - 1; k++)
        x_plane(k);
    for (int k = 1; k < n - 1; k++)
        y_plane(k);
    for (int j = 1; j < n - 1; j++)
        z_plane(j);
    for (int k = 1; k < n - 1; k++)
        add_plane(k);
}

/* Root of the mean square of the distance from the steady state. */
static double error(void)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                vec e;
                exact(k, j, i, e);
                for (int m = 0; m < M; m++)
                    sum += (u[at(k, j, i)][m] - e[m]) * (u[at(k, j, i)][m] - e[m]);
            }
    return sqrt(sum / ((double)n * n * n * M));
}

int main(int argc, char **argv)
{
    int large = kernel_begin("bt", argc, argv, 6, 24);
    n = large ? 34 : 12;
    size_t points = (size_t)n * n * n;
    u = space(points, sizeof *u);
    rhs = space(points, sizeof *rhs);
    force = space(points, sizeof *force);
    for (int d = 0; d < 3; d++)
        flux[d] = space(points, sizeof *flux[d]);
    /* The force that keeps the known field: what the scheme makes of that field, with the other sign. */
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                exact(k, j, i, u[at(k, j, i)]);
    for (int k = 0; k < n; k++)
        flux_plane(k);
    for (int k = 1; k < n - 1; k++)
        rhs_plane(k);
    for (size_t p = 0; p < points; p++)
        for (int m = 0; m < M; m++) {
            force[p][m] = -rhs[p][m] / DT;
            rhs[p][m] = 0;
        }
    unsigned long long seed = 29;
    for (int k = 1; k < n - 1; k++)
        for (int j = 1; j < n - 1; j++)
            for (int i = 1; i < n - 1; i++)
                for (int m = 0; m < M; m++)
                    u[at(k, j, i)][m] += uniform(&seed) - 0.5;

    double before = error();
    vec *last = space(points, sizeof *last);
    for (int lap = 0; lap < kernel.laps; lap++) {
        memcpy(last, u, points * sizeof *u);
        lap_begin();
        step();
        lap_end();
    }
    double after = error();

    vec *parallel = u;
    u = last;
    serial_step();
    kernel_check(!memcmp(u, parallel, points * sizeof *u), "the last step equals the same one done serially");
    kernel_check(after < before * pow(0.97, kernel.laps), "the field goes to its steady state");
    double sum = 0;
    for (size_t p = 0; p < points; p++)
        for (int m = 0; m < M; m++)
            sum += (m + 1) * u[p][m];
    printf("error %.6e, then %.6e; sum %.9e\n", before, after, sum);
    return kernel_end();
}
