/* Jacobi relaxation on the device: c-tests/apps/jacobi2d.c by blocks of a kernel (figure 6 of "GPU Initiated
 * OpenSHMEM").
 *
 *     oshrun -n PES gpu_jacobi [--mode gio|ikn|interk|overlap|all] [--size N] [--iterations I] [--residual K]
 *                              [--tolerance X] [--repeats R] [--blocks B]
 *
 * Each PE has N rows of N. gio and ikn: one kernel for all iterations; the first and the last block put their rows to
 * the neighbours with a signal, blocks meet between iterations, and the first block tells the other PEs the largest
 * change. interk: a kernel for each iteration, and the host puts. overlap: the inner rows in one stream; in another, as
 * soon as the neighbours' have come, the rows that neighbours get, which the host puts while inner ones are computed.
 *
 * Iterations, residual and rows must be those of a serial solution in every bit. Rows of output: milliseconds for all
 * iterations. */
#include "gpu.h"

#include "../apps/jacobi.h"

/* Halos and residuals: see jacobi.h. `u` is the device's. */
struct device_grid : grid {
    double *out[2][2];             /* pinned: rows on their way, by iteration and side */
    unsigned long long *change[2]; /* of the device: by turn and block, the bits of the largest change */
    double *agreed;                /* of the device: the last residual of all PEs, and the iterations done */
    unsigned *meeting;             /* of the device */
};

/* Row i of iteration t + 1; `most`: the largest change so far. */
__device__ inline void relax_row(const device_grid &g, long t, long i, double *most) {
    int now = (int)(t & 1), edge = i == 1 ? 0 : 1;
    const double *at = g.u[now] + (size_t)i * g.width;
    const double *above = i == 1 && g.me > 0 ? g.halo[now][0] : at - g.width;
    const double *below = i == g.rows && g.me + 1 < g.pes ? g.halo[now][1] : at + g.width;
    double *to = g.u[!now] + (size_t)i * g.width;
    double *first = i == 1 || i == g.rows ? g.out[!now][edge] : NULL;
    double *second = i == 1 && i == g.rows ? g.out[!now][1] : NULL;
    for (long j = 1 + (long)threadIdx.x; j <= g.columns; j += (long)blockDim.x) {
        double v = 0.25 * ((above[j] + below[j]) + (at[j - 1] + at[j + 1])), d = fabs(v - at[j]);
        to[j] = v;
        if (d > *most) *most = d;
        if (first) first[j] = v;
        if (second) second[j] = v;
    }
}
/* Changes are not negative, so that their bits rise as they do. */
__device__ inline void note(const device_grid &g, long t, double most) {
    if (grid_checks(&g, t)) atomicMax(&g.change[grid_turn(&g, t)][blockIdx.x], (unsigned long long)gpu_bits(most));
}

/* The leader sends the row that its block has made. */
__device__ inline void send(gpu_poster *p, const device_grid &g, long t, int side) {
    int turn = (int)(t & 1);
    hetmp_word_publish();
    __syncthreads();
    if (!HETMP_WG_LEADER() || !grid_needs(&g, side)) return;
    gpu_put_signal(p, grid_pe(&g, side), g.halo[turn][!side], g.out[turn][side], grid_row_bytes(&g),
                   &g.arrived[turn][!side], (uint64_t)t);
    gpu_ring(p);
}
/* The leader of one block tells the others how much has changed, and hears it of them. */
__device__ inline void agree(gpu_poster *p, const device_grid &g, long t) {
    const int turn = grid_turn(&g, t);
    double *values = g.largest[turn], most = 0;
    uint64_t *told = g.told[turn];
    for (unsigned b = 0; b < gridDim.x; b++)
        most = fmax(most, gpu_number(hetmp_word_get((uint64_t *)&g.change[turn][b])));
    for (int pe = 0; pe < g.pes; pe++)
        if (pe != g.me) gpu_p_signal(p, pe, &values[g.me], gpu_bits(most), &told[g.me], (uint64_t)t + 1);
    gpu_ring(p);
    for (int pe = 0; pe < g.pes; pe++) {
        if (pe == g.me) continue;
        hetmp_wait_until(&told[pe], SHMEM_CMP_GE, (uint64_t)t + 1);
        most = fmax(most, gpu_number(hetmp_word_acquire((uint64_t *)&values[pe])));
    }
    hetmp_word_set((uint64_t *)&g.agreed[0], gpu_bits(most));
    hetmp_word_set((uint64_t *)&g.agreed[1], gpu_bits((double)(t + 1)));
}

__global__ void inside(device_grid g, gpu_way way) {
    const long lo = 1 + g.rows * (long)blockIdx.x / (long)gridDim.x;
    const long hi = g.rows * ((long)blockIdx.x + 1) / (long)gridDim.x;
    const int top = lo == 1, bottom = hi == g.rows, leads = HETMP_WG_LEADER();
    unsigned turn = 0;
    gpu_poster p;
    if (leads) gpu_poster_begin(&p, way);
    for (long t = 0; t < g.plan.iterations; t++) {
        double most = 0;
        for (int side = 0; side < 2; side++)
            if ((side == 0 ? top : bottom) && grid_needs(&g, side))
                hetmp_wait_until_wg(&g.arrived[t & 1][side], SHMEM_CMP_GE, (uint64_t)t);
        if (top) {
            relax_row(g, t, 1, &most);
            send(&p, g, t + 1, 0);
        }
        if (bottom) {
            if (hi != 1) relax_row(g, t, hi, &most);
            send(&p, g, t + 1, 1);
        }
        for (long i = lo + top; i <= hi - bottom; i++) relax_row(g, t, i, &most);
        note(g, t, most);
        gpu_meet(g.meeting, &turn);
        if (!grid_checks(&g, t)) continue;
        if (blockIdx.x == 0 && leads) agree(&p, g, t);
        gpu_meet(g.meeting, &turn);
        if (leads) g.change[grid_turn(&g, t)][blockIdx.x] = 0; /* for the residual after the next one */
        if (gpu_number(hetmp_word_get((uint64_t *)&g.agreed[0])) <= g.plan.tolerance) break;
    }
    if (leads) gpu_poster_end(&p, way);
}

/* Rows first, first + stride, ...: n of them. */
__global__ void relax_rows(device_grid g, long t, long first, long stride, long n) {
    double most = 0;
    for (long k = n * (long)blockIdx.x / (long)gridDim.x; k < n * ((long)blockIdx.x + 1) / (long)gridDim.x; k++)
        relax_row(g, t, first + k * stride, &most);
    note(g, t, most);
    hetmp_word_publish();
}

static void outside(const device_grid &g, int mode, int blocks) {
    std::vector<double> change((size_t)blocks), zero((size_t)blocks);
    double end[2] = {0, 0};
    for (long t = 0; t < g.plan.iterations; t++) {
        const int overlap = mode == OVERLAP, turn = (int)(t + 1) & 1;
        if (overlap && g.rows > 2) gpu_launch(relax_rows, blocks, GPU_THREADS, g, t, 2, 1, g.rows - 2);
        for (int side = 0; side < 2; side++) grid_await(&g, t, side);
        const int edges = (int)std::min<long>(g.rows, 2);
        if (overlap)
            gpu_launch_in(1, relax_rows, std::min(edges, blocks), GPU_THREADS, g, t, 1, g.rows - 1, edges);
        else gpu_launch(relax_rows, blocks, GPU_THREADS, g, t, 1, 1, g.rows);
        gpu_wait_for(overlap);
        for (int side = 0; side < 2; side++) grid_send(&g, g.out[turn][side], t + 1, side, !overlap);
        gpu_wait();
        shmem_quiet();
        if (!grid_checks(&g, t)) continue;
        gpu_copy(change.data(), g.change[grid_turn(&g, t)], change.size() * sizeof(double));
        gpu_copy(g.change[grid_turn(&g, t)], zero.data(), zero.size() * sizeof(double));
        end[0] = grid_residual(&g, *std::max_element(change.begin(), change.end()));
        end[1] = (double)(t + 1);
        if (end[0] <= g.plan.tolerance) break;
    }
    gpu_copy(g.agreed, end, sizeof end);
}

static void start(const device_grid &g, std::vector<double> *rows) {
    const std::vector<char> zero(GPU_MOST_BLOCKS * sizeof(double));
    grid_start(&g, rows->data(), NULL);
    for (int turn = 0; turn < 2; turn++) {
        gpu_copy(g.u[turn], rows->data(), rows->size() * sizeof(double));
        gpu_copy(g.change[turn], zero.data(), zero.size());
        for (int side = 0; side < 2; side++) /* their ends are the boundary */
            memcpy(g.out[turn][side], rows->data() + (size_t)(side == 0 ? 1 : g.rows) * g.width, grid_row_bytes(&g));
    }
    gpu_copy(g.meeting, zero.data(), sizeof *g.meeting);
}

int main(int argc, char **argv) {
    gpu_runs runs = gpu_all_runs;
    device_grid g = {};
    g.columns = 256, g.plan.iterations = 100, g.plan.every = 10;
    GIO_OPTIONS(argc, argv, GPU_OPTIONS(runs, OVERLAP), JACOBI_OPTIONS(g));
    gpu_begin();
    grid_begin(&g, g.columns * gio_pes);
    runs.blocks = (int)std::min<long>(runs.blocks, g.rows);
    std::vector<double> rows((size_t)(g.rows + 2) * g.width);
    for (int turn = 0; turn < 2; turn++) {
        g.u[turn] = gpu_memory<double>(rows.size());
        g.change[turn] = gpu_memory<unsigned long long>(GPU_MOST_BLOCKS);
        for (double *&out : g.out[turn]) out = gpu_pinned<double>(g.width);
    }
    g.agreed = gpu_memory<double>(2);
    g.meeting = gpu_memory<unsigned>(1);
    const bool verified = (double)g.all * (double)g.columns * (double)g.plan.iterations <= 1e9;
    const solution serial = verified ? grid_serial(&g) : solution{0, 0, NULL};
    char tolerance[32] = "";
    if (g.plan.tolerance > 0) snprintf(tolerance, sizeof tolerance, " to %g", g.plan.tolerance);
    gpu_measure(
        runs, OVERLAP, "jacobi", std::to_string(g.columns) + tolerance, grid_row_bytes(&g),
        verified ? NULL : "not verified", [&] { start(g, &rows); },
        [&](int mode, const gpu_way &way) {
            if (mode == GIO || mode == IKN) gpu_launch(inside, runs.blocks, GPU_THREADS, g, way);
            else outside(g, mode, runs.blocks);
        },
        [&] {
            double end[2];
            gpu_copy(end, g.agreed, sizeof end);
            const long done = (long)end[1];
            if (!verified) return 1;
            gpu_copy(rows.data(), g.u[done & 1], rows.size() * sizeof(double));
            return grid_is_right(&g, &serial, rows.data(), done, end[0]);
        });
    return gpu_end();
}
