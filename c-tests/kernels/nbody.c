/* N-body with softened gravity: every body feels every other one, so that each iteration of the loop costs the
   same. The loop's schedule is the user's: OMP_SCHEDULE. Usage: nbody [bodies [steps]]
   hetmp-test: threads=1,2,3
   hetmp-test: args=150 4
   hetmp-test: libs=-lm */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    double x, y, z, mass;
} body;

static double uniform(unsigned long *seed)
{
    *seed = *seed * 6364136223846793005ul + 1442695040888963407ul;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1500;
    int steps = argc > 2 ? atoi(argv[2]) : 12;
    if (n < 1 || steps < 1) {
        fprintf(stderr, "usage: nbody [bodies [steps]], both at least 1\n");
        return 2;
    }
    body *p = malloc(sizeof *p * (size_t)n);
    double (*v)[3] = calloc((size_t)n, sizeof *v);
    if (!p || !v)
        return 1;
    unsigned long seed = 1;
    for (int i = 0; i < n; i++) {
        p[i].x = uniform(&seed);
        p[i].y = uniform(&seed);
        p[i].z = uniform(&seed);
        p[i].mass = uniform(&seed) / n;
    }
    double start = omp_get_wtime();
    for (int s = 0; s < steps; s++) {
#ifdef NO_CLAUSE
#pragma omp parallel for
#else
#pragma omp parallel for schedule(runtime)
#endif
        for (int i = 0; i < n; i++) {
            double ax = 0, ay = 0, az = 0;
            for (int k = 0; k < n; k++) {
                double dx = p[k].x - p[i].x, dy = p[k].y - p[i].y, dz = p[k].z - p[i].z;
                double d2 = dx * dx + dy * dy + dz * dz + 1e-4;
                double f = p[k].mass / (d2 * sqrt(d2));
                ax += f * dx;
                ay += f * dy;
                az += f * dz;
            }
            v[i][0] += 1e-3 * ax;
            v[i][1] += 1e-3 * ay;
            v[i][2] += 1e-3 * az;
        }
        for (int i = 0; i < n; i++) {
            p[i].x += 1e-3 * v[i][0];
            p[i].y += 1e-3 * v[i][1];
            p[i].z += 1e-3 * v[i][2];
        }
    }
    double seconds = omp_get_wtime() - start;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += p[i].x * (i + 1) + v[i][0] + v[i][1] * v[i][2];
    printf("checksum %.15e\n", sum);
    fprintf(stderr, "seconds %.6f\n", seconds);
    return 0;
}
