/* Forces between the particles of neighbouring boxes within a cut-off given by the boxes: one parallel loop over boxes,
   each of which meets up to 27. Boxes at the surface have fewer neighbours, so the work differs a little. Programs of
   this kind execute their region once; here again in every lap, from cleared forces.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

typedef struct {
    double v, x, y, z;
} four;

static int edge, each;
static four *place, *force;
static double *charge;

static inline void box(int number)
{
    const double a2 = 2 * 0.5 * 0.5;
    int bx = number % edge, by = number / edge % edge, bz = number / edge / edge;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) {
                int x = bx + dx, y = by + dy, z = bz + dz;
                if (x < 0 || y < 0 || z < 0 || x >= edge || y >= edge || z >= edge)
                    continue;
                int other = each * ((z * edge + y) * edge + x), own = each * number;
                for (int i = own; i < own + each; i++) {
                    four sum = force[i];
                    for (int j = other; j < other + each; j++) {
                        double rx = place[i].x - place[j].x, ry = place[i].y - place[j].y;
                        double rz = place[i].z - place[j].z;
                        double potential = exp(-a2 * (rx * rx + ry * ry + rz * rz));
                        double f = 2 * potential * charge[j];
                        sum.v += charge[j] * potential;
                        sum.x += f * rx;
                        sum.y += f * ry;
                        sum.z += f * rz;
                    }
                    force[i] = sum;
                }
            }
}

int main(int argc, char **argv)
{
    int large = kernel_begin("lavamd", argc, argv, 2, 8);
    edge = large ? 6 : 4;
    each = large ? 48 : 20;
    int boxes = edge * edge * edge, n = boxes * each;
    place = space(n, sizeof *place);
    force = space(n, sizeof *force);
    charge = space(n, sizeof *charge);
    unsigned long long seed = 17;
    for (int i = 0; i < n; i++) {
        int b = i / each;
        place[i].x = b % edge + uniform(&seed);
        place[i].y = b / edge % edge + uniform(&seed);
        place[i].z = b / edge / edge + uniform(&seed);
        charge[i] = 0.1 + uniform(&seed);
    }

    for (int lap = 0; lap < kernel.laps; lap++) {
        memset(force, 0, n * sizeof *force);
        lap_begin();
#pragma omp parallel for SCHED
        for (int b = 0; b < boxes; b++)
            box(b);
        lap_end();
    }

    /* What one particle does to another, the other does to it: weighted by charge, forces cancel. */
    four total = {0, 0, 0, 0};
    for (int i = 0; i < n; i++) {
        total.v += force[i].v;
        total.x += charge[i] * force[i].x;
        total.y += charge[i] * force[i].y;
        total.z += charge[i] * force[i].z;
    }
    kernel_check(fabs(total.x) + fabs(total.y) + fabs(total.z) < 1e-9 * total.v, "forces cancel");
    four *parallel = force;
    force = space(n, sizeof *force);
    int same = 1;
    for (int b = 0; b < boxes; b += large ? 7 : 1) {
        box(b);
        same &= !memcmp(force + b * each, parallel + b * each, each * sizeof *force);
    }
    kernel_check(same, "forces equal those computed serially");
    printf("potential %.9e\n", total.v);
    return kernel_end();
}
