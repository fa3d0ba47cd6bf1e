/* Jacobi relaxation on the device: c-tests/apps/jacobi2d.c by blocks of a kernel (figure 6 of "GPU Initiated
 * OpenSHMEM").
 *
 *     oshrun -n PES gpu_jacobi [--mode gio|ikn|interk|all] [--size N] [--iterations I] [--repeats R] [--blocks B]
 *
 * Each PE has N rows of N. gio and ikn: one kernel for all iterations; the first and the last block put their rows to
 * the neighbours with a signal, and blocks meet between iterations. interk: a kernel for each iteration, and the host
 * puts. Two halos a side, each with a signal of its own: see jacobi2d.c. The rows must be those of a serial solution in
 * every bit. Rows of output: milliseconds for all iterations. */
#include "gpu.h"

struct grid {
    long columns, rows, first, all;
    size_t width;
    double *u[2];         /* of the device: rows + 2 */
    double *halo[2][2];   /* symmetric, by iteration and side */
    double *out[2][2];    /* pinned: rows on their way */
    uint64_t *arrived[2]; /* symmetric: by iteration and side */
    unsigned *meeting;    /* of the device */
    int me, pes;
};

/* First values; rows 0 and all + 1 are the boundary. */
static double value_at(long row, long column, long all, long columns) {
    if (row == 0) return 1;
    if (row == all + 1) return 0;
    if (column == 0) return 0.5;
    if (column == columns + 1) return 0.25;
    return (double)((row * 7919 + column * 104729) % 1000) / 1000;
}

__device__ inline void relax_row(const grid &g, long t, long i) {
    int now = (int)(t & 1), edge = i == 1 ? 0 : 1;
    const double *at = g.u[now] + (size_t)i * g.width;
    const double *above = i == 1 && g.me > 0 ? g.halo[now][0] : at - g.width;
    const double *below = i == g.rows && g.me + 1 < g.pes ? g.halo[now][1] : at + g.width;
    double *to = g.u[!now] + (size_t)i * g.width;
    double *first = i == 1 || i == g.rows ? g.out[!now][edge] : NULL;
    double *second = i == 1 && i == g.rows ? g.out[!now][1] : NULL;
    for (long j = 1 + (long)threadIdx.x; j <= g.columns; j += (long)blockDim.x) {
        double v = 0.25 * ((above[j] + below[j]) + (at[j - 1] + at[j + 1]));
        to[j] = v;
        if (first) first[j] = v;
        if (second) second[j] = v;
    }
}

__device__ inline void rows_of_block(const grid &g, long *lo, long *hi) {
    *lo = 1 + g.rows * (long)blockIdx.x / (long)gridDim.x;
    *hi = g.rows * ((long)blockIdx.x + 1) / (long)gridDim.x;
}

/* The leader sends the row that its block has made. */
__device__ inline void send(gpu_poster *p, const grid &g, long t, int side) {
    int pe = side == 0 ? g.me - 1 : g.me + 1, turn = (int)(t & 1);
    hetmp_word_publish();
    __syncthreads();
    if (!HETMP_WG_LEADER() || pe < 0 || pe >= g.pes) return;
    gpu_put_signal(p, pe, g.halo[turn][!side], g.out[turn][side], (size_t)(g.columns + 2) * sizeof(double),
                   &g.arrived[turn][!side], (uint64_t)t);
    gpu_ring(p);
}

__global__ void inside(grid g, gpu_way way, long iterations) {
    long lo, hi;
    unsigned turn = 0;
    gpu_poster p;
    if (HETMP_WG_LEADER()) gpu_poster_begin(&p, way);
    rows_of_block(g, &lo, &hi);
    for (long t = 0; t < iterations; t++) {
        int now = (int)(t & 1), top = lo == 1, bottom = hi == g.rows;
        if (top && g.me > 0) hetmp_wait_until_wg(&g.arrived[now][0], SHMEM_CMP_GE, (uint64_t)t);
        if (bottom && g.me + 1 < g.pes) hetmp_wait_until_wg(&g.arrived[now][1], SHMEM_CMP_GE, (uint64_t)t);
        if (top) {
            relax_row(g, t, 1);
            send(&p, g, t + 1, 0);
        }
        if (bottom) {
            if (hi != 1) relax_row(g, t, hi);
            send(&p, g, t + 1, 1);
        }
        for (long i = lo + top; i <= hi - bottom; i++) relax_row(g, t, i);
        gpu_meet(g.meeting, &turn);
    }
    if (HETMP_WG_LEADER()) gpu_poster_end(&p, way);
}

__global__ void step(grid g, long t) {
    long lo, hi;
    rows_of_block(g, &lo, &hi);
    for (long i = lo; i <= hi; i++) relax_row(g, t, i);
    hetmp_word_publish();
}

static void outside(const grid &g, int blocks, long iterations) {
    for (long t = 0; t < iterations; t++) {
        int now = (int)(t & 1);
        if (g.me > 0) shmem_signal_wait_until(&g.arrived[now][0], SHMEM_CMP_GE, (uint64_t)t);
        if (g.me + 1 < g.pes) shmem_signal_wait_until(&g.arrived[now][1], SHMEM_CMP_GE, (uint64_t)t);
        gpu_launch(step, blocks, GPU_THREADS, g, t);
        gpu_wait();
        for (int side = 0; side < 2; side++) {
            int pe = side == 0 ? g.me - 1 : g.me + 1;
            if (pe < 0 || pe >= g.pes) continue;
            shmem_putmem_signal(g.halo[!now][!side], g.out[!now][side], (size_t)(g.columns + 2) * sizeof(double),
                                &g.arrived[!now][!side], (uint64_t)t + 1, SHMEM_SIGNAL_SET, pe);
        }
    }
    shmem_quiet();
}

static void start(grid *g, std::vector<double> *rows) {
    for (long i = 0; i < g->rows + 2; i++)
        for (long j = 0; j < (long)g->width; j++)
            (*rows)[(size_t)i * g->width + (size_t)j] = value_at(g->first + i - 1, j, g->all, g->columns);
    for (int turn = 0; turn < 2; turn++) {
        gpu_copy(g->u[turn], rows->data(), rows->size() * sizeof(double));
        memset(g->arrived[turn], 0, 2 * sizeof(uint64_t));
        for (int side = 0; side < 2; side++)
            for (long j = 0; j < (long)g->width; j++) {
                long row = side == 0 ? g->first - 1 : g->first + g->rows;
                g->halo[turn][side][j] = value_at(row, j, g->all, g->columns);
                g->out[turn][side][j] = value_at(side == 0 ? g->first : g->first + g->rows - 1, j, g->all, g->columns);
            }
    }
    unsigned zero = 0;
    gpu_copy(g->meeting, &zero, sizeof zero);
    shmem_barrier_all();
}

static std::vector<double> serial(const grid &g, long iterations) {
    size_t w = g.width;
    std::vector<double> now((size_t)(g.all + 2) * w), next;
    for (long i = 0; i < g.all + 2; i++)
        for (long j = 0; j < (long)w; j++) now[(size_t)i * w + (size_t)j] = value_at(i, j, g.all, g.columns);
    next = now;
    for (long t = 0; t < iterations; t++) {
        for (size_t i = 1; i <= (size_t)g.all; i++)
            for (size_t j = 1, at = i * w + 1; j <= (size_t)g.columns; j++, at++)
                next[at] = 0.25 * ((now[at - w] + now[at + w]) + (now[at - 1] + now[at + 1]));
        now.swap(next);
    }
    return now;
}

int main(int argc, char **argv) {
    int mode = GPU_MODES, blocks = GPU_MOST_BLOCKS;
    long iterations = 100, repeats = 3;
    grid g = {};
    g.columns = 256;
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--mode") == 0) mode = gpu_mode_of(value);
        else if (strcmp(name, "--size") == 0) g.columns = gpu_number(name, value, 1, 16384);
        else if (strcmp(name, "--iterations") == 0) iterations = gpu_number(name, value, 1, 1000000);
        else if (strcmp(name, "--repeats") == 0) repeats = gpu_number(name, value, 1, 1000);
        else if (strcmp(name, "--blocks") == 0) blocks = (int)gpu_number(name, value, 1, GPU_MOST_BLOCKS);
        else
            gpu_die(2, "argument %s %s: unknown (expected --mode, --size, --iterations, --repeats or --blocks)", name,
                    value ? value : "");
    }
    gpu_begin();
    g.me = gpu_me;
    g.pes = gpu_pes;
    g.rows = g.columns;
    g.all = g.rows * g.pes;
    g.first = 1 + g.rows * g.me;
    g.width = ((size_t)g.columns + 2 + 7) & ~(size_t)7;
    blocks = (int)std::min<long>(blocks, g.rows);
    std::vector<double> rows((size_t)(g.rows + 2) * g.width);
    for (int turn = 0; turn < 2; turn++) {
        g.u[turn] = gpu_memory<double>(rows.size());
        g.arrived[turn] = gpu_symmetric<uint64_t>(2);
        for (int side = 0; side < 2; side++) {
            g.halo[turn][side] = gpu_symmetric<double>(g.width);
            g.out[turn][side] = gpu_pinned<double>(g.width);
        }
    }
    g.meeting = gpu_memory<unsigned>(1);
    bool verified = (double)g.all * (double)g.columns * (double)iterations <= 1e9;
    std::vector<double> right = verified ? serial(g, iterations) : std::vector<double>();
    std::string name = std::to_string(g.columns);
    for (int m = 0; m < GPU_MODES; m++) {
        if (mode != m && mode != GPU_MODES) continue;
        std::vector<double> ms;
        int same = 1;
        for (long r = -1; r < repeats; r++) { /* once more at the beginning: caches, pages, threads */
            gpu_host h;
            start(&g, &rows);
            gpu_open(&h, m, blocks);
            shmem_barrier_all();
            double began = gpu_now();
            if (m == GPU_INTERK) {
                outside(g, blocks, iterations);
            } else {
                gpu_launch(inside, blocks, GPU_THREADS, g, h.way, iterations);
                gpu_wait();
            }
            shmem_barrier_all();
            if (r >= 0) ms.push_back(1e3 * (gpu_now() - began));
            gpu_close(&h);
            gpu_copy(rows.data(), g.u[iterations & 1], rows.size() * sizeof(double));
            for (long i = 1; verified && i <= g.rows; i++)
                same &= memcmp(&rows[(size_t)i * g.width + 1], &right[(size_t)(g.first + i - 1) * g.width + 1],
                               (size_t)g.columns * sizeof(double)) == 0;
        }
        same = gpu_agree(same);
        gpu_row("jacobi", gpu_modes[m], name.c_str(), (size_t)(g.columns + 2) * sizeof(double), blocks, "ms", ms,
                !same ? "wrong" : verified ? "right" : "not verified");
    }
    return gpu_end();
}
