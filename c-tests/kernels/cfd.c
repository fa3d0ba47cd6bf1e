/* Compressible flow around a block on an unstructured grid, by finite volumes and three Runge-Kutta steps: seven short
   parallel regions an iteration, without barriers inside. Elements know their neighbours by number only, and the
   numbers are shuffled, so memory is read here and there.
   hetmp-test: forms=none,runtime,dynamic
   hetmp-test: threads=1,2,3
   hetmp-test: args=S
   hetmp-test: libs=-lm */
#include "kernel.h"
#include <math.h>

enum { FACES = 4, STAGES = 3, WALL = -1, SHUFFLED = 64 };

typedef struct {
    double density, momentum_x, momentum_y, energy;
} state;

static int elements;
static int (*neighbour)[FACES]; /* in the order east, west, north, south */
static state *now, *old, *change;
static double *time_step;
static const double GAMMA = 1.4, SMOOTHING = 0.2;
static const double NORMAL[FACES][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};

static inline double pressure(const state *s)
{
    double square = (s->momentum_x * s->momentum_x + s->momentum_y * s->momentum_y) / s->density;
    return (GAMMA - 1) * (s->energy - 0.5 * square);
}

static inline double fastest(const state *s)
{
    double speed = sqrt(s->momentum_x * s->momentum_x + s->momentum_y * s->momentum_y) / s->density;
    return speed + sqrt(GAMMA * pressure(s) / s->density);
}

static inline void step_of(int e)
{
    time_step[e] = 0.15 / fastest(&now[e]);
}

/* What flows through the faces of element e. */
static inline void flux(int e)
{
    state own = now[e], sum = {0, 0, 0, 0};
    double p = pressure(&own), u = own.momentum_x / own.density, v = own.momentum_y / own.density;
    double fast = fastest(&own);
    for (int f = 0; f < FACES; f++) {
        double nx = 0.5 * NORMAL[f][0], ny = 0.5 * NORMAL[f][1];
        if (neighbour[e][f] == WALL) {
            sum.momentum_x -= 2 * nx * p;
            sum.momentum_y -= 2 * ny * p;
            continue;
        }
        state other = now[neighbour[e][f]];
        double op = pressure(&other), ou = other.momentum_x / other.density, ov = other.momentum_y / other.density;
        double own_way = nx * u + ny * v, way = nx * ou + ny * ov;
        sum.density -= own.density * own_way + other.density * way;
        sum.momentum_x -= own.momentum_x * own_way + other.momentum_x * way + nx * (p + op);
        sum.momentum_y -= own.momentum_y * own_way + other.momentum_y * way + ny * (p + op);
        sum.energy -= (own.energy + p) * own_way + (other.energy + op) * way;
        double smooth = SMOOTHING * (fast + fastest(&other));
        sum.density += smooth * (other.density - own.density);
        sum.momentum_x += smooth * (other.momentum_x - own.momentum_x);
        sum.momentum_y += smooth * (other.momentum_y - own.momentum_y);
        sum.energy += smooth * (other.energy - own.energy);
    }
    change[e] = sum;
}

static inline void advance(int e, int stage)
{
    double factor = time_step[e] / (STAGES - stage);
    now[e].density = old[e].density + factor * change[e].density;
    now[e].momentum_x = old[e].momentum_x + factor * change[e].momentum_x;
    now[e].momentum_y = old[e].momentum_y + factor * change[e].momentum_y;
    now[e].energy = old[e].energy + factor * change[e].energy;
}

static void iterate(void)
{
    memcpy(old, now, elements * sizeof *now);
#pragma omp parallel for SCHED
    for (int e = 0; e < elements; e++)
        step_of(e);
    for (int stage = 0; stage < STAGES; stage++) {
#pragma omp parallel for SCHED
        for (int e = 0; e < elements; e++)
            flux(e);
#pragma omp parallel for SCHED
        for (int e = 0; e < elements; e++)
            advance(e, stage);
    }
}

static void serial_iterate(void)
{
    memcpy(old, now, elements * sizeof *now);
    for (int e = 0; e < elements; e++)
        step_of(e);
    for (int stage = 0; stage < STAGES; stage++) {
        for (int e = 0; e < elements; e++)
            flux(e);
        for (int e = 0; e < elements; e++)
            advance(e, stage);
    }
}

/* A plane of width x height cells that ends where it begins, with a block of wall in the middle; the cells' numbers
   are shuffled within groups, as a mesh generator leaves them near each other, but not in order. */
static void make_grid(int width, int height)
{
    int cells = width * height, *number = space(cells, sizeof *number);
    elements = 0;
    for (int c = 0; c < cells; c++) {
        int x = c % width, y = c / width;
        int wall = x >= width * 3 / 8 && x < width / 2 && y >= height * 3 / 8 && y < height * 5 / 8;
        number[c] = wall ? WALL : elements++;
    }
    int *shuffled = space(elements, sizeof *shuffled);
    unsigned long long seed = 37;
    for (int e = 0; e < elements; e++)
        shuffled[e] = e;
    for (int e = 0; e < elements; e++) {
        int group = e / SHUFFLED * SHUFFLED, size = elements - group < SHUFFLED ? elements - group : SHUFFLED;
        int other = group + (int)(uniform(&seed) * size), keep = shuffled[e];
        shuffled[e] = shuffled[other];
        shuffled[other] = keep;
    }
    for (int c = 0; c < cells; c++)
        if (number[c] != WALL)
            number[c] = shuffled[number[c]];
    neighbour = space(elements, sizeof *neighbour);
    for (int c = 0; c < cells; c++) {
        int x = c % width, y = c / width;
        if (number[c] == WALL)
            continue;
        int *to = neighbour[number[c]];
        to[0] = number[y * width + (x + 1) % width];
        to[1] = number[y * width + (x + width - 1) % width];
        to[2] = number[(y + 1) % height * width + x];
        to[3] = number[(y + height - 1) % height * width + x];
    }
    free(number);
    free(shuffled);
}

int main(int argc, char **argv)
{
    int large = kernel_begin("cfd", argc, argv, 8, 60);
    make_grid(large ? 256 : 48, large ? 192 : 32);
    now = space(elements, sizeof *now);
    old = space(elements, sizeof *old);
    change = space(elements, sizeof *change);
    time_step = space(elements, sizeof *time_step);
    for (int e = 0; e < elements; e++) {
        now[e].density = 1.4;
        now[e].momentum_x = 1.4 * 0.8;
        now[e].energy = 1 / (GAMMA - 1) + 0.5 * 1.4 * 0.64;
    }

    state *last = space(elements, sizeof *last);
    for (int lap = 0; lap < kernel.laps; lap++) {
        memcpy(last, now, elements * sizeof *now);
        lap_begin();
        iterate();
        lap_end();
    }

    state *parallel = now;
    now = last;
    serial_iterate();
    kernel_check(!memcmp(now, parallel, elements * sizeof *now),
                 "the last iteration equals the same one done serially");
    double mass = 0, energy = 0, most = 0;
    int sound = 1;
    for (int e = 0; e < elements; e++) {
        sound &= now[e].density > 0.05 && now[e].density < 14 && pressure(&now[e]) > 0;
        mass += now[e].density;
        energy += now[e].energy;
        most = fmax(most, now[e].density);
    }
    kernel_check(sound, "densities and pressures that a gas can have");
    kernel_check(most > 1.4, "the flow is dammed up before the block");
    printf("elements %d mass %.9e energy %.9e most %.6e\n", elements, mass, energy, most);
    return kernel_end();
}
