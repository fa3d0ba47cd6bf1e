/* Breadth-first search of a graph spread over PEs, on the device: c-tests/apps/search.c by blocks of a kernel.
 *
 *     oshrun -n PES gpu_search [--mode gio|ikn|interk|all] [--vertices N] [--degree D] [--seed S] [--repeats R]
 *                              [--blocks B]
 *
 * gio and ikn: one kernel for a whole search. interk: two kernels a level, and the host sends chunks and adds up
 * between them. See search.c for the protocol. Rows of output: milliseconds for one search. */
#include "gpu.h"

struct search {
    long vertices, degree, own;
    uint64_t seed;
    int me, pes, blocks;
    unsigned *distance, *sent, *found[2], *many; /* of the device; many[2]: vertices found, by turn */
    unsigned *count, *meeting;                   /* of the device: vertices of `out`, by PE and block */
    unsigned *out, *in;                          /* symmetric: chunks by PE and block */
    uint64_t *come, *told, *total;               /* symmetric */
    uint64_t *sum;                               /* pinned: what all PEs found, and the next step */
};

__host__ __device__ inline uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}
__host__ __device__ inline long neighbour(const search &s, long v, long k) {
    uint64_t h = mixed(s.seed * 1000003u + (uint64_t)(v * s.degree + k));
    if (k % 2 == 0) return (v + 1 + (long)(h % 7)) % s.vertices;
    return h % 8 != 0 ? (v + s.vertices - 1 - (long)(h / 8 % 5)) % s.vertices
                      : (long)(h / 8 % (uint64_t)s.vertices);
}
__host__ __device__ inline unsigned *part(const search &s, unsigned *chunks, int pe, int w) {
    return chunks + (size_t)(pe * s.blocks + w) * (size_t)s.own;
}
__host__ __device__ inline uint64_t said(uint64_t step, uint64_t n) { return step << 32 | n; }
__device__ inline unsigned now_in(const unsigned *word) { return *(const volatile unsigned *)word; }

__device__ inline void mark(const search &s, long v, unsigned distance, int turn) {
    if (atomicCAS(&s.distance[v / s.pes], ~0u, distance) != ~0u) return;
    s.found[turn][atomicAdd(&s.many[turn], 1u)] = (unsigned)v;
}
__device__ inline void look(const search &s, int w, unsigned level) {
    int last = (int)(level & 1);
    long many = (long)now_in(&s.many[last]), from = many * w / s.blocks, to = many * (w + 1) / s.blocks;
    if (HETMP_WG_LEADER())
        for (int pe = 0; pe < s.pes; pe++) s.count[pe * s.blocks + w] = 0;
    __syncthreads();
    for (long i = from * s.degree + (long)threadIdx.x; i < to * s.degree; i += (long)blockDim.x) {
        long v = neighbour(s, (long)now_in(&s.found[last][i / s.degree]), i % s.degree);
        int pe = (int)(v % s.pes);
        if (pe == s.me) mark(s, v, level + 1, !last);
        else if (atomicExch(&s.sent[v], 1u) == 0)
            part(s, s.out, pe, w)[atomicAdd(&s.count[pe * s.blocks + w], 1u)] = (unsigned)v;
    }
    hetmp_word_publish();
    __syncthreads();
}
__device__ inline void take(const search &s, int pe, int w, unsigned level) {
    long n = (long)(hetmp_word_acquire(&s.come[pe * s.blocks + w]) & 0xffffffffu);
    for (long i = (long)threadIdx.x; i < n; i += (long)blockDim.x)
        mark(s, (long)now_in(part(s, s.in, pe, w) + i), level + 1, !(level & 1));
}

__global__ void inside(search s, gpu_way way, uint64_t step) {
    const int w = (int)blockIdx.x, leads = HETMP_WG_LEADER();
    unsigned turn = 0;
    gpu_poster p;
    if (leads) gpu_poster_begin(&p, way);
    for (unsigned level = 0;; level++) {
        uint64_t now = step + level;
        look(s, w, level);
        for (int i = 1; leads && i < s.pes; i++) {
            int pe = (s.me + i) % s.pes;
            unsigned n = now_in(&s.count[pe * s.blocks + w]);
            gpu_put_signal(&p, pe, part(s, s.in, s.me, w), part(s, s.out, pe, w), n * sizeof(unsigned),
                           &s.come[s.me * s.blocks + w], said(now, n));
            gpu_ring(&p);
        }
        for (int i = 1; i < s.pes; i++) {
            int pe = (s.me + i) % s.pes;
            hetmp_wait_until_wg(&s.come[pe * s.blocks + w], SHMEM_CMP_GE, said(now, 0));
            take(s, pe, w, level);
        }
        gpu_meet(s.meeting, &turn);
        if (w == 0 && leads) {
            uint64_t *told = s.told + (now & 1) * (uint64_t)s.pes, *total = s.total + (now & 1) * (uint64_t)s.pes;
            uint64_t mine = now_in(&s.many[!(level & 1)]), all = mine;
            for (int pe = 0; pe < s.pes; pe++)
                if (pe != s.me) gpu_p_signal(&p, pe, &total[s.me], mine, &told[s.me], now);
            gpu_ring(&p);
            for (int pe = 0; pe < s.pes; pe++) {
                if (pe == s.me) continue;
                hetmp_wait_until(&told[pe], SHMEM_CMP_GE, now);
                all += hetmp_word_acquire(&total[pe]);
            }
            *(volatile unsigned *)&s.many[level & 1] = 0; /* the next level finds into it */
            hetmp_word_set(s.sum + 1, now + 1);
            hetmp_word_release(s.sum, all);
        }
        gpu_meet(s.meeting, &turn);
        if (hetmp_word_acquire(s.sum) == 0) break;
    }
    if (leads) gpu_poster_end(&p, way);
}

__global__ void look_kernel(search s, unsigned level) { look(s, (int)blockIdx.x, level); }
__global__ void take_kernel(search s, unsigned level) {
    for (int pe = 0; pe < s.pes; pe++)
        if (pe != s.me) take(s, pe, (int)blockIdx.x, level);
}

static uint64_t outside(const search &s, uint64_t step, long *sums) {
    std::vector<unsigned> count((size_t)(s.pes * s.blocks));
    unsigned many = 0, zero = 0;
    for (unsigned level = 0;; level++) {
        uint64_t now = step + level;
        gpu_launch(look_kernel, s.blocks, GPU_THREADS, s, level);
        gpu_wait();
        gpu_copy(count.data(), s.count, count.size() * sizeof(unsigned));
        for (int i = 1; i < s.pes; i++)
            for (int w = 0, pe = (s.me + i) % s.pes; w < s.blocks; w++) {
                unsigned n = count[(size_t)(pe * s.blocks + w)];
                shmem_putmem_signal_nbi(part(s, s.in, s.me, w), part(s, s.out, pe, w), n * sizeof(unsigned),
                                        &s.come[s.me * s.blocks + w], said(now, n), SHMEM_SIGNAL_SET, pe);
            }
        shmem_quiet();
        for (int pe = 0; pe < s.pes; pe++)
            for (int w = 0; pe != s.me && w < s.blocks; w++)
                shmem_signal_wait_until(&s.come[pe * s.blocks + w], SHMEM_CMP_GE, said(now, 0));
        gpu_launch(take_kernel, s.blocks, GPU_THREADS, s, level);
        gpu_wait();
        gpu_copy(&many, s.many + !(level & 1), sizeof many);
        gpu_copy(s.many + (level & 1), &zero, sizeof zero);
        sums[0] = (long)many;
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sums[1], &sums[0], 1);
        if (sums[1] == 0) return now + 1;
    }
}

static std::vector<unsigned> serial(const search &s, long root) {
    std::vector<unsigned> distance((size_t)s.vertices, ~0u);
    std::vector<long> queue(1, root);
    distance[(size_t)root] = 0;
    for (size_t head = 0; head < queue.size(); head++)
        for (long k = 0; k < s.degree; k++) {
            size_t u = (size_t)neighbour(s, queue[head], k);
            if (distance[u] != ~0u) continue;
            distance[u] = distance[(size_t)queue[head]] + 1;
            queue.push_back((long)u);
        }
    return distance;
}

static void start(const search &s, long root) {
    std::vector<unsigned> nothing((size_t)s.own, ~0u), zero((size_t)s.vertices + 2);
    gpu_copy(s.sent, zero.data(), (size_t)s.vertices * sizeof(unsigned));
    gpu_copy(s.meeting, zero.data(), sizeof(unsigned));
    if (root % s.pes == s.me) {
        unsigned first = (unsigned)root;
        nothing[(size_t)(root / s.pes)] = 0;
        gpu_copy(s.found[0], &first, sizeof first);
        zero[0] = 1;
    }
    gpu_copy(s.many, zero.data(), 2 * sizeof(unsigned));
    gpu_copy(s.distance, nothing.data(), nothing.size() * sizeof(unsigned));
    unsigned one = 1;
    gpu_copy(s.sent + root, &one, sizeof one);
}

int main(int argc, char **argv) {
    int mode = GPU_MODES;
    long repeats = 3;
    search s = {};
    s.vertices = 2000, s.degree = 4, s.seed = 1, s.blocks = GPU_MOST_BLOCKS;
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--mode") == 0) mode = gpu_mode_of(value);
        else if (strcmp(name, "--vertices") == 0) s.vertices = gpu_number(name, value, 1, 100000000);
        else if (strcmp(name, "--degree") == 0) s.degree = gpu_number(name, value, 1, 1000);
        else if (strcmp(name, "--seed") == 0) s.seed = (uint64_t)gpu_number(name, value, 0, 1000000000);
        else if (strcmp(name, "--repeats") == 0) repeats = gpu_number(name, value, 1, 1000);
        else if (strcmp(name, "--blocks") == 0) s.blocks = (int)gpu_number(name, value, 1, GPU_MOST_BLOCKS);
        else
            gpu_die(2, "argument %s %s: unknown (expected --mode, --vertices, --degree, --seed, --repeats or --blocks)",
                    name, value ? value : "");
    }
    gpu_begin();
    s.me = gpu_me;
    s.pes = gpu_pes;
    s.own = (s.vertices + s.pes - 1) / s.pes;
    size_t chunks = (size_t)(s.pes * s.blocks);
    s.distance = gpu_memory<unsigned>((size_t)s.own);
    s.sent = gpu_memory<unsigned>((size_t)s.vertices);
    for (unsigned *&found : s.found) found = gpu_memory<unsigned>((size_t)s.own);
    s.many = gpu_memory<unsigned>(2);
    s.count = gpu_memory<unsigned>(chunks);
    s.meeting = gpu_memory<unsigned>(1);
    s.out = gpu_symmetric<unsigned>(chunks * (size_t)s.own);
    s.in = gpu_symmetric<unsigned>(chunks * (size_t)s.own);
    s.come = gpu_symmetric<uint64_t>(chunks);
    s.told = gpu_symmetric<uint64_t>(2 * (size_t)s.pes);
    s.total = gpu_symmetric<uint64_t>(2 * (size_t)s.pes);
    s.sum = gpu_pinned<uint64_t>(2);
    long *sums = gpu_symmetric<long>(2), root = (long)(mixed(s.seed) % (uint64_t)s.vertices);
    std::vector<unsigned> right = serial(s, root), distance((size_t)s.own);
    uint64_t step = 1;
    for (int m = 0; m < GPU_MODES; m++) {
        if (mode != m && mode != GPU_MODES) continue;
        std::vector<double> ms;
        int same = 1;
        for (long r = -1; r < repeats; r++) {
            gpu_host h;
            start(s, root);
            gpu_open(&h, m, s.blocks);
            shmem_barrier_all();
            double began = gpu_now();
            if (m == GPU_INTERK) step = outside(s, step, sums);
            else {
                gpu_launch(inside, s.blocks, GPU_THREADS, s, h.way, step);
                gpu_wait();
                step = s.sum[1];
            }
            shmem_barrier_all();
            if (r >= 0) ms.push_back(1e3 * (gpu_now() - began));
            gpu_close(&h);
            gpu_copy(distance.data(), s.distance, distance.size() * sizeof(unsigned));
            for (long i = 0; i * s.pes + s.me < s.vertices; i++)
                same &= distance[(size_t)i] == right[(size_t)(i * s.pes + s.me)];
        }
        same = gpu_agree(same);
        gpu_row("search", gpu_modes[m], std::to_string(s.vertices).c_str(), sizeof(unsigned), s.blocks, "ms", ms,
                same ? "right" : "wrong");
    }
    return gpu_end();
}
