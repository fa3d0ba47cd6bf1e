/* A layer of experts spread over PEs, on the device: c-tests/apps/experts.c by blocks of a kernel.
 *
 *     oshrun -n PES gpu_experts [--mode gio|ikn|interk|all] [--tokens N] [--width D] [--experts E] [--top K]
 *                               [--rounds R] [--repeats R] [--blocks B]
 *
 * gio and ikn: one kernel for all rounds; each block dispatches its tokens, works on the chunks of its own number from
 * every PE, and combines. interk: three kernels a round, and the host sends chunks between them. See experts.c for the
 * protocol and for why numbers are exact. Rows of output: milliseconds for all rounds. */
#include "gpu.h"

#include "../apps/experts.h"

__device__ inline void gather(const layer &l, int w, long round) {
    long first = layer_first_token(&l, w), many = layer_first_token(&l, w + 1) - first;
    if (HETMP_WG_LEADER()) {
        for (int pe = 0; pe < l.pes; pe++) l.count[pe * l.groups + w] = 0;
        for (long i = 0; i < many * l.top; i++) {
            long e = layer_gate(&l, l.me, first + i / l.top, round, i % l.top);
            l.place[first * l.top + i] = l.count[(int)(e / l.experts) * l.groups + w]++;
        }
    }
    __syncthreads();
    for (long i = (long)threadIdx.x; i < many * l.top * (long)l.row; i += (long)blockDim.x) {
        long at = first * l.top + i / (long)l.row, j = i % (long)l.row, token = at / l.top;
        long e = layer_gate(&l, l.me, token, round, at % l.top);
        double *row = layer_part(&l, l.out, (int)(e / l.experts), w) + (size_t)l.place[at] * l.row;
        row[j] = j == 0 ? (double)e : l.x[token * l.width + j - 1];
    }
    hetmp_word_publish();
    __syncthreads();
}
__device__ inline void work(const layer &l, int pe, int w, long rows) {
    for (long i = (long)threadIdx.x; i < rows * l.width; i += (long)blockDim.x) {
        size_t at = (size_t)(i / l.width) * l.row;
        const double *row = layer_part(&l, l.in, pe, w) + at;
        layer_part(&l, l.made, pe, w)[at + 1 + (size_t)(i % l.width)] =
            layer_made((long)row[0], row + 1, i % l.width, l.width);
    }
    hetmp_word_publish();
    __syncthreads();
}
__device__ inline void sum_up(const layer &l, int w, long round) {
    long first = layer_first_token(&l, w), many = layer_first_token(&l, w + 1) - first;
    for (long i = (long)threadIdx.x; i < many * l.width; i += (long)blockDim.x) {
        long token = first + i / l.width, j = i % l.width;
        double sum = 0;
        for (long k = 0; k < l.top; k++) {
            int pe = (int)(layer_gate(&l, l.me, token, round, k) / l.experts);
            const double *row = layer_part(&l, l.back, pe, w) + (size_t)l.place[token * l.top + k] * l.row;
            sum = layer_combined(&l, sum, row[1 + j], k);
        }
        l.x[token * l.width + j] = sum;
    }
    __syncthreads();
}

__global__ void inside(layer l, gpu_way way) {
    const int w = (int)blockIdx.x, leads = HETMP_WG_LEADER();
    gpu_poster p;
    if (leads) gpu_poster_begin(&p, way);
    for (long round = 0; round < l.rounds; round++) {
        gather(l, w, round);
        for (int i = 0; leads && i < l.pes; i++) {
            int pe = (l.me + i) % l.pes;
            long rows = l.count[pe * l.groups + w];
            gpu_put_signal(&p, pe, layer_part(&l, l.in, l.me, w), layer_part(&l, l.out, pe, w), layer_bytes(&l, rows),
                           &l.come[l.me * l.groups + w], layer_said(round, rows));
            gpu_ring(&p);
        }
        for (int i = 0; i < l.pes; i++) {
            int pe = (l.me + i) % l.pes;
            hetmp_wait_until_wg(&l.come[pe * l.groups + w], SHMEM_CMP_GE, layer_said(round, 0));
            long rows = (long)gio_many(&l.come[pe * l.groups + w]);
            work(l, pe, w, rows);
            if (!leads) continue;
            gpu_put_signal(&p, pe, layer_part(&l, l.back, l.me, w), layer_part(&l, l.made, pe, w),
                           layer_bytes(&l, rows), &l.answered[l.me * l.groups + w], layer_said(round, rows));
            gpu_ring(&p);
        }
        for (int pe = 0; pe < l.pes; pe++)
            hetmp_wait_until_wg(&l.answered[pe * l.groups + w], SHMEM_CMP_GE, layer_said(round, 0));
        sum_up(l, w, round);
    }
    if (leads) gpu_poster_end(&p, way);
}

__global__ void gather_kernel(layer l, long round) { gather(l, (int)blockIdx.x, round); }
__global__ void work_kernel(layer l) {
    for (int pe = 0; pe < l.pes; pe++)
        work(l, pe, (int)blockIdx.x, (long)gio_many(&l.come[pe * l.groups + (int)blockIdx.x]));
}
__global__ void sum_kernel(layer l, long round) { sum_up(l, (int)blockIdx.x, round); }

static void outside(const layer &l) {
    std::vector<long> rows((size_t)(l.pes * l.groups));
    for (long round = 0; round < l.rounds; round++) {
        gpu_launch(gather_kernel, l.groups, GPU_THREADS, l, round);
        gpu_wait();
        layer_exchange(&l, l.in, l.out, l.come, l.count, round);
        shmem_quiet();
        for (size_t i = 0; i < rows.size(); i++) rows[i] = layer_await(l.come, (int)i, round);
        gpu_launch(work_kernel, l.groups, GPU_THREADS, l);
        gpu_wait();
        layer_exchange(&l, l.back, l.made, l.answered, rows.data(), round);
        shmem_quiet();
        for (size_t i = 0; i < rows.size(); i++) layer_await(l.answered, (int)i, round);
        gpu_launch(sum_kernel, l.groups, GPU_THREADS, l, round);
        gpu_wait();
    }
}

int main(int argc, char **argv) {
    gpu_runs runs = gpu_all_runs;
    layer l = {};
    l.tokens = 64, l.experts = 4, l.top = 2, l.width = 64, l.rounds = 10;
    GIO_OPTIONS(argc, argv, GPU_OPTIONS(runs, INTER_K), EXPERTS_OPTIONS(l));
    gpu_begin();
    l.groups = runs.blocks;
    size_t chunks = layer_begin(&l), bytes = (size_t)(l.tokens * l.width) * sizeof(double);
    l.made = gpu_symmetric<double>(chunks * l.chunk);
    l.count = gpu_pinned<long>(chunks);
    l.place = gpu_memory<long>((size_t)(l.tokens * l.top));
    l.x = gpu_memory<double>((size_t)(l.tokens * l.width));
    std::vector<double> x((size_t)(l.tokens * l.width));
    const double *serial = layer_serial(&l);
    gpu_measure(
        runs, INTER_K, "experts", std::to_string(l.tokens) + " tokens top " + std::to_string(l.top), layer_bytes(&l, 1),
        NULL,
        [&] {
            layer_start(&l, x.data());
            gpu_copy(l.x, x.data(), bytes);
        },
        [&](int mode, const gpu_way &way) {
            if (mode == INTER_K) outside(l);
            else gpu_launch(inside, l.groups, GPU_THREADS, l, way);
        },
        [&] {
            gpu_copy(x.data(), l.x, bytes);
            return memcmp(x.data(), serial, bytes) == 0;
        });
    return gpu_end();
}
