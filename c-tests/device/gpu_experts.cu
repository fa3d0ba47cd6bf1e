/* A layer of experts spread over PEs, on the device: c-tests/apps/experts.c by blocks of a kernel.
 *
 *     oshrun -n PES gpu_experts [--mode gio|ikn|interk|all] [--tokens N] [--width D] [--experts E] [--top K]
 *                               [--rounds R] [--repeats R] [--blocks B]
 *
 * gio and ikn: one kernel for all rounds; each block dispatches its tokens, works on the chunks of its own number from
 * every PE, and combines. interk: three kernels a round, and the host sends chunks between them. See experts.c for the
 * protocol and for why numbers are exact. Rows of output: milliseconds for all rounds. */
#include "gpu.h"

struct layer {
    long tokens, experts, top, width, rounds;
    int me, pes, blocks;
    size_t row, chunk;             /* doubles: expert, then numbers; rows of a chunk */
    double *x;                     /* of the device */
    double *out, *in, *made, *back; /* symmetric: chunks by PE and block */
    uint64_t *come, *answered;     /* symmetric: round and how many rows */
    long *count, *place;           /* pinned: rows of `out`; of the device: a token's row in its chunk */
};

__host__ __device__ inline uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}
__host__ __device__ inline long gate(const layer &l, int pe, long token, long round, long k) {
    uint64_t all = (uint64_t)(l.experts * l.pes), top = (uint64_t)l.top;
    uint64_t h = mixed((uint64_t)((pe * l.tokens + token) * l.rounds + round));
    return (long)((h + (uint64_t)k * (1 + (h >> 40) % (all > top ? all / top : 1))) % all);
}
__host__ __device__ inline double made_of(long e, const double *from, long j, long width) {
    long v = (long)from[j] * (1 + (e + j) % 5) + (long)from[(j + 1) % width] * (1 + e % 3);
    return (double)(v % 64);
}
__host__ __device__ inline double combined(const layer &l, double sum, double answer, long k) {
    sum = (k == 0 ? 0 : sum) + answer / (double)(1 << k);
    return k + 1 == l.top ? (double)((long)(sum * 8) % 64) : sum;
}
static double first_value(const layer &l, int pe, long token, long j) {
    return (double)(mixed((uint64_t)((pe * l.tokens + token) * l.width + j)) % 64);
}

__host__ __device__ inline double *part(const layer &l, double *chunks, int pe, int w) {
    return chunks + (size_t)(pe * l.blocks + w) * l.chunk;
}
__host__ __device__ inline uint64_t said(long round, long rows) { return (uint64_t)(round + 1) << 32 | (uint64_t)rows; }
__host__ __device__ inline size_t bytes_of(const layer &l, long rows) { return (size_t)rows * l.row * sizeof(double); }
__device__ inline long first_token(const layer &l, int w) { return l.tokens * w / l.blocks; }
__device__ inline long rows_said(const uint64_t *word) { return (long)(hetmp_word_acquire(word) & 0xffffffffu); }

__device__ inline void gather(const layer &l, int w, long round) {
    long first = first_token(l, w), many = first_token(l, w + 1) - first;
    if (HETMP_WG_LEADER()) {
        for (int pe = 0; pe < l.pes; pe++) l.count[pe * l.blocks + w] = 0;
        for (long i = 0; i < many * l.top; i++) {
            long e = gate(l, l.me, first + i / l.top, round, i % l.top);
            l.place[first * l.top + i] = l.count[(int)(e / l.experts) * l.blocks + w]++;
        }
    }
    __syncthreads();
    for (long i = (long)threadIdx.x; i < many * l.top * (long)l.row; i += (long)blockDim.x) {
        long at = first * l.top + i / (long)l.row, j = i % (long)l.row, token = at / l.top;
        long e = gate(l, l.me, token, round, at % l.top);
        double *row = part(l, l.out, (int)(e / l.experts), w) + (size_t)l.place[at] * l.row;
        row[j] = j == 0 ? (double)e : l.x[token * l.width + j - 1];
    }
    hetmp_word_publish();
    __syncthreads();
}
__device__ inline void work(const layer &l, int pe, int w, long rows) {
    for (long i = (long)threadIdx.x; i < rows * l.width; i += (long)blockDim.x) {
        size_t at = (size_t)(i / l.width) * l.row;
        const double *row = part(l, l.in, pe, w) + at;
        part(l, l.made, pe, w)[at + 1 + (size_t)(i % l.width)] = made_of((long)row[0], row + 1, i % l.width, l.width);
    }
    hetmp_word_publish();
    __syncthreads();
}
__device__ inline void sum_up(const layer &l, int w, long round) {
    long first = first_token(l, w), many = first_token(l, w + 1) - first;
    for (long i = (long)threadIdx.x; i < many * l.width; i += (long)blockDim.x) {
        long token = first + i / l.width, j = i % l.width;
        double sum = 0;
        for (long k = 0; k < l.top; k++) {
            int pe = (int)(gate(l, l.me, token, round, k) / l.experts);
            const double *row = part(l, l.back, pe, w) + (size_t)l.place[token * l.top + k] * l.row;
            sum = combined(l, sum, row[1 + j], k);
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
            long rows = l.count[pe * l.blocks + w];
            gpu_put_signal(&p, pe, part(l, l.in, l.me, w), part(l, l.out, pe, w), bytes_of(l, rows),
                           &l.come[l.me * l.blocks + w], said(round, rows));
            gpu_ring(&p);
        }
        for (int i = 0; i < l.pes; i++) {
            int pe = (l.me + i) % l.pes;
            hetmp_wait_until_wg(&l.come[pe * l.blocks + w], SHMEM_CMP_GE, said(round, 0));
            long rows = rows_said(&l.come[pe * l.blocks + w]);
            work(l, pe, w, rows);
            if (!leads) continue;
            gpu_put_signal(&p, pe, part(l, l.back, l.me, w), part(l, l.made, pe, w), bytes_of(l, rows),
                           &l.answered[l.me * l.blocks + w], said(round, rows));
            gpu_ring(&p);
        }
        for (int pe = 0; pe < l.pes; pe++)
            hetmp_wait_until_wg(&l.answered[pe * l.blocks + w], SHMEM_CMP_GE, said(round, 0));
        sum_up(l, w, round);
    }
    if (leads) gpu_poster_end(&p, way);
}

__global__ void gather_kernel(layer l, long round) { gather(l, (int)blockIdx.x, round); }
__global__ void work_kernel(layer l) {
    for (int pe = 0; pe < l.pes; pe++)
        work(l, pe, (int)blockIdx.x, rows_said(&l.come[pe * l.blocks + (int)blockIdx.x]));
}
__global__ void sum_kernel(layer l, long round) { sum_up(l, (int)blockIdx.x, round); }

static void exchange(const layer &l, double *to, double *from, uint64_t *signals, const std::vector<long> &rows,
                     long round) {
    for (int i = 0; i < l.pes; i++)
        for (int w = 0, pe = (l.me + i) % l.pes; w < l.blocks; w++) {
            long n = rows[(size_t)(pe * l.blocks + w)];
            shmem_putmem_signal_nbi(part(l, to, l.me, w), part(l, from, pe, w), bytes_of(l, n),
                                    &signals[l.me * l.blocks + w], said(round, n), SHMEM_SIGNAL_SET, pe);
        }
    shmem_quiet();
}
static std::vector<long> await_all(const layer &l, uint64_t *signals, long round) {
    std::vector<long> rows;
    for (int i = 0; i < l.pes * l.blocks; i++)
        rows.push_back((long)(shmem_signal_wait_until(&signals[i], SHMEM_CMP_GE, said(round, 0)) & 0xffffffffu));
    return rows;
}
static void outside(const layer &l) {
    for (long round = 0; round < l.rounds; round++) {
        gpu_launch(gather_kernel, l.blocks, GPU_THREADS, l, round);
        gpu_wait();
        exchange(l, l.in, l.out, l.come, std::vector<long>(l.count, l.count + l.pes * l.blocks), round);
        std::vector<long> rows = await_all(l, l.come, round);
        gpu_launch(work_kernel, l.blocks, GPU_THREADS, l);
        gpu_wait();
        exchange(l, l.back, l.made, l.answered, rows, round);
        await_all(l, l.answered, round);
        gpu_launch(sum_kernel, l.blocks, GPU_THREADS, l, round);
        gpu_wait();
    }
}

static std::vector<double> serial(const layer &l, const std::vector<double> &first) {
    std::vector<double> x = first, before((size_t)l.width);
    for (long t = 0; t < l.tokens; t++)
        for (long round = 0; round < l.rounds; round++) {
            double *row = &x[(size_t)(t * l.width)];
            std::copy(row, row + l.width, before.begin());
            for (long j = 0; j < l.width; j++)
                for (long k = 0; k < l.top; k++)
                    row[j] = combined(l, row[j], made_of(gate(l, l.me, t, round, k), before.data(), j, l.width), k);
        }
    return x;
}

int main(int argc, char **argv) {
    int mode = GPU_MODES;
    long repeats = 3;
    layer l = {};
    l.tokens = 64, l.experts = 4, l.top = 2, l.width = 64, l.rounds = 10, l.blocks = GPU_MOST_BLOCKS;
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--mode") == 0) mode = gpu_mode_of(value);
        else if (strcmp(name, "--tokens") == 0) l.tokens = gpu_number(name, value, 1, 1000000);
        else if (strcmp(name, "--width") == 0) l.width = gpu_number(name, value, 1, 16384);
        else if (strcmp(name, "--experts") == 0) l.experts = gpu_number(name, value, 1, 1024);
        else if (strcmp(name, "--top") == 0) l.top = gpu_number(name, value, 1, 4);
        else if (strcmp(name, "--rounds") == 0) l.rounds = gpu_number(name, value, 1, 1000000);
        else if (strcmp(name, "--repeats") == 0) repeats = gpu_number(name, value, 1, 1000);
        else if (strcmp(name, "--blocks") == 0) l.blocks = (int)gpu_number(name, value, 1, GPU_MOST_BLOCKS);
        else
            gpu_die(2, "argument %s %s: unknown (expected --mode, --tokens, --width, --experts, --top, --rounds, "
                    "--repeats or --blocks)", name, value ? value : "");
    }
    gpu_begin();
    l.me = gpu_me;
    l.pes = gpu_pes;
    if (l.top > l.experts * l.pes)
        gpu_die(2, "--top %ld: not usable (expected at most the number of experts, %ld)", l.top, l.experts * l.pes);
    size_t chunks = (size_t)(l.pes * l.blocks);
    l.row = 1 + (size_t)l.width;
    l.chunk = (size_t)((l.tokens + l.blocks - 1) / l.blocks * l.top) * l.row;
    for (double **area : {&l.out, &l.in, &l.made, &l.back}) *area = gpu_symmetric<double>(chunks * l.chunk);
    l.come = gpu_symmetric<uint64_t>(chunks);
    l.answered = gpu_symmetric<uint64_t>(chunks);
    l.count = gpu_pinned<long>(chunks);
    l.place = gpu_memory<long>((size_t)(l.tokens * l.top));
    l.x = gpu_memory<double>((size_t)(l.tokens * l.width));
    std::vector<double> first, x((size_t)(l.tokens * l.width));
    for (long t = 0; t < l.tokens; t++)
        for (long j = 0; j < l.width; j++) first.push_back(first_value(l, l.me, t, j));
    std::vector<double> right = serial(l, first);
    std::string name = std::to_string(l.tokens) + " tokens top " + std::to_string(l.top);
    for (int m = 0; m < GPU_MODES; m++) {
        if (mode != m && mode != GPU_MODES) continue;
        std::vector<double> ms;
        int same = 1;
        for (long r = -1; r < repeats; r++) {
            gpu_host h;
            gpu_copy(l.x, first.data(), first.size() * sizeof(double));
            memset(l.come, 0, chunks * sizeof *l.come);
            memset(l.answered, 0, chunks * sizeof *l.answered);
            gpu_open(&h, m, l.blocks);
            shmem_barrier_all();
            double began = gpu_now();
            if (m == GPU_INTERK) outside(l);
            else {
                gpu_launch(inside, l.blocks, GPU_THREADS, l, h.way);
                gpu_wait();
            }
            shmem_barrier_all();
            if (r >= 0) ms.push_back(1e3 * (gpu_now() - began));
            gpu_close(&h);
            gpu_copy(x.data(), l.x, x.size() * sizeof(double));
            same &= x == right;
        }
        same = gpu_agree(same);
        gpu_row("experts", gpu_modes[m], name.c_str(), bytes_of(l, 1), l.blocks, "ms", ms, same ? "right" : "wrong");
    }
    return gpu_end();
}
