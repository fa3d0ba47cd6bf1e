/* Scalar pentadiagonal solver: as bt, but the unknowns are uncoupled in the implicit part, whose fourth differences
   make five diagonals. Far less arithmetic a point than bt, the same sweeps along three dimensions and the same
   barriers: one parallel region a time step, with five loops.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { M = 5, LONGEST = 60 };

typedef double vec[M];

static int n; /* points of an edge, two layers of boundary at each end included */
static vec *u, *rhs, *force;
static const double NU = 0.06, DT = 0.02, FOURTH = 0.02;

static inline int at(int k, int j, int i)
{
    return (k * n + j) * n + i;
}

static inline int stride(int d)
{
    return d == 0 ? 1 : d == 1 ? n : n * n;
}

/* How fast unknown m is carried along d. */
static inline double wind(int d, int m)
{
    return 0.3 * (d + 1) - 0.2 * m;
}

static void exact(int k, int j, int i, double *out)
{
    double x = (double)i / (n - 1), y = (double)j / (n - 1), z = (double)k / (n - 1);
    for (int m = 0; m < M; m++)
        out[m] = 1 + x * y * (m + 1) - 0.4 * z * z * m + 0.2 * cos(3 * y + m) * x;
}

/* Diffusion, wind and fourth differences along each dimension, a weak coupling of neighbouring unknowns, the force. */
static inline void rhs_plane(int k)
{
    double h = 1.0 / (n - 1), half = 0.5 / h, second = NU / (h * h), fourth = FOURTH / h;
    for (int j = 2; j < n - 2; j++)
        for (int i = 2; i < n - 2; i++) {
            int p = at(k, j, i);
            for (int m = 0; m < M; m++) {
                double sum = force[p][m] - 0.1 * u[p][m] * u[p][(m + 1) % M];
                for (int d = 0; d < 3; d++) {
                    int s = stride(d);
                    double near = u[p + s][m] + u[p - s][m], far = u[p + 2 * s][m] + u[p - 2 * s][m];
                    sum += second * (near - 2 * u[p][m]) - fourth * (far - 4 * near + 6 * u[p][m]);
                    sum -= half * wind(d, m) * (u[p + s][m] - u[p - s][m]);
                }
                rhs[p][m] = DT * sum;
            }
        }
}

/* Solves one line along d for all unknowns: five diagonals, of which the two upper ones are kept. */
static inline void line(int d, int start)
{
    double h = 1.0 / (n - 1), half = 0.5 * DT / h, second = DT * NU / (h * h), fourth = DT * FOURTH / h;
    int s = stride(d);
    double up1[LONGEST][M], up2[LONGEST][M];
    for (int q = 2; q < n - 2; q++) {
        int p = start + q * s;
        for (int m = 0; m < M; m++) {
            double w = half * wind(d, m);
            double low2 = fourth, low1 = -second - 4 * fourth - w, own = 1 + 2 * second + 6 * fourth;
            double high1 = -second - 4 * fourth + w, high2 = fourth, right = rhs[p][m];
            if (q > 3) {
                /* The line two before, then what that leaves of the line before. */
                low1 -= low2 * up1[q - 2][m];
                own -= low2 * up2[q - 2][m];
                right -= low2 * rhs[p - 2 * s][m];
            }
            if (q > 2) {
                own -= low1 * up1[q - 1][m];
                high1 -= low1 * up2[q - 1][m];
                right -= low1 * rhs[p - s][m];
            }
            double inverse = 1 / own;
            up1[q][m] = high1 * inverse;
            up2[q][m] = high2 * inverse;
            rhs[p][m] = right * inverse;
        }
    }
    for (int q = n - 4; q >= 2; q--) {
        int p = start + q * s;
        for (int m = 0; m < M; m++) {
            rhs[p][m] -= up1[q][m] * rhs[p + s][m];
            if (q < n - 4)
                rhs[p][m] -= up2[q][m] * rhs[p + 2 * s][m];
        }
    }
}

static inline void x_plane(int k)
{
    for (int j = 2; j < n - 2; j++)
        line(0, at(k, j, 0));
}

static inline void y_plane(int k)
{
    for (int i = 2; i < n - 2; i++)
        line(1, at(k, 0, i));
}

static inline void z_plane(int j)
{
    for (int i = 2; i < n - 2; i++)
        line(2, at(0, j, i));
}

static inline void add_plane(int k)
{
    for (int j = 2; j < n - 2; j++)
        for (int i = 2; i < n - 2; i++)
            for (int m = 0; m < M; m++)
                u[at(k, j, i)][m] += rhs[at(k, j, i)][m];
}

static void step(void)
{
#pragma omp parallel
    {
#pragma omp for SCHED
        for (int k = 2; k < n - 2; k++)
            rhs_plane(k);
#pragma omp for SCHED
        for (int k = 2; k < n - 2; k++)
            x_plane(k);
#pragma omp for SCHED
        for (int k = 2; k < n - 2; k++)
            y_plane(k);
#pragma omp for SCHED
        for (int j = 2; j < n - 2; j++)
            z_plane(j);
#pragma omp for SCHED nowait
        for (int k = 2; k < n - 2; k++)
            add_plane(k);
    }
}

static void serial_step(void)
{
    for (int k = 2; k < n - 2; k++)
        rhs_plane(k);
    for (int k = 2; k < n - 2; k++)
        x_plane(k);
    for (int k = 2; k < n - 2; k++)
        y_plane(k);
    for (int j = 2; j < n - 2; j++)
        z_plane(j);
    for (int k = 2; k < n - 2; k++)
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
    int large = kernel_begin("sp", argc, argv, 8, 50);
    n = large ? 52 : 14;
    size_t points = (size_t)n * n * n;
    u = space(points, sizeof *u);
    rhs = space(points, sizeof *rhs);
    force = space(points, sizeof *force);
    /* The force that keeps the known field: what the scheme makes of that field, with the other sign. */
    for (int k = 0; k < n; k++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                exact(k, j, i, u[at(k, j, i)]);
    for (int k = 2; k < n - 2; k++)
        rhs_plane(k);
    for (size_t p = 0; p < points; p++)
        for (int m = 0; m < M; m++) {
            force[p][m] = -rhs[p][m] / DT;
            rhs[p][m] = 0;
        }
    unsigned long long seed = 31;
    for (int k = 2; k < n - 2; k++)
        for (int j = 2; j < n - 2; j++)
            for (int i = 2; i < n - 2; i++)
                for (int m = 0; m < M; m++)
                    u[at(k, j, i)][m] += 0.4 * (uniform(&seed) - 0.5);

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
    kernel_check(after < before * pow(0.98, kernel.laps), "the field goes to its steady state");
    double sum = 0;
    for (size_t p = 0; p < points; p++)
        for (int m = 0; m < M; m++)
            sum += (m + 1) * u[p][m];
    printf("error %.6e, then %.6e; sum %.9e\n", before, after, sum);
    return kernel_end();
}
