/* Breadth-first search of a graph spread over PEs, on the device: c-tests/apps/search.c by blocks of a kernel.
 *
 *     oshrun -n PES gpu_search [--mode gio|ikn|interk|all] [--vertices N] [--degree D] [--seed S] [--repeats R]
 *                              [--blocks B]
 *
 * gio and ikn: one kernel for a whole search. interk: two kernels a level, and the host sends chunks and adds up
 * between them. See search.c for the protocol. Rows of output: milliseconds for one search. */
#include "gpu.h"

#include "../apps/search.h"

__device__ inline unsigned now_in(const unsigned *word) { return *(const volatile unsigned *)word; }

__device__ inline void mark(const search &s, long v, unsigned distance, int turn) {
    if (atomicCAS(&s.distance[v / s.pes], ~0u, distance) != ~0u) return;
    s.found[turn][atomicAdd(&s.many[turn], 1u)] = (unsigned)v;
}
__device__ inline void look(const search &s, int w, unsigned level) {
    int last = (int)(level & 1);
    long many = (long)now_in(&s.many[last]), from = many * w / s.groups, to = many * (w + 1) / s.groups;
    if (HETMP_WG_LEADER())
        for (int pe = 0; pe < s.pes; pe++) s.count[pe * s.groups + w] = 0;
    __syncthreads();
    for (long i = from * s.degree + (long)threadIdx.x; i < to * s.degree; i += (long)blockDim.x) {
        long v = search_neighbour(&s, (long)now_in(&s.found[last][i / s.degree]), i % s.degree);
        int pe = (int)(v % s.pes);
        if (pe == s.me) mark(s, v, level + 1, !last);
        else if (atomicExch(&s.sent[v], 1u) == 0)
            search_part(&s, s.out, pe, w)[atomicAdd(&s.count[pe * s.groups + w], 1u)] = (unsigned)v;
    }
    hetmp_word_publish();
    __syncthreads();
}
__device__ inline void take(const search &s, int pe, int w, unsigned level) {
    long n = (long)gio_many(&s.come[pe * s.groups + w]);
    for (long i = (long)threadIdx.x; i < n; i += (long)blockDim.x)
        mark(s, (long)now_in(search_part(&s, s.in, pe, w) + i), level + 1, !(level & 1));
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
            unsigned n = now_in(&s.count[pe * s.groups + w]);
            gpu_put_signal(&p, pe, search_part(&s, s.in, s.me, w), search_part(&s, s.out, pe, w), n * sizeof(unsigned),
                           &s.come[s.me * s.groups + w], gio_said(now, n));
            gpu_ring(&p);
        }
        for (int i = 1; i < s.pes; i++) {
            int pe = (s.me + i) % s.pes;
            hetmp_wait_until_wg(&s.come[pe * s.groups + w], SHMEM_CMP_GE, gio_said(now, 0));
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

static uint64_t outside(const search &s, uint64_t step) {
    std::vector<unsigned> count((size_t)(s.pes * s.groups));
    unsigned many = 0, zero = 0;
    for (unsigned level = 0;; level++) {
        uint64_t now = step + level;
        gpu_launch(look_kernel, s.groups, GPU_THREADS, s, level);
        gpu_wait();
        gpu_copy(count.data(), s.count, count.size() * sizeof(unsigned));
        for (int i = 1; i < s.pes; i++) search_send(&s, count.data(), (s.me + i) % s.pes, now);
        shmem_quiet();
        search_await(&s, now);
        gpu_launch(take_kernel, s.groups, GPU_THREADS, s, level);
        gpu_wait();
        gpu_copy(&many, s.many + !(level & 1), sizeof many);
        gpu_copy(s.many + (level & 1), &zero, sizeof zero);
        if (search_sum(&s, (long)many) == 0) return now + 1;
    }
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
    gpu_runs runs = gpu_all_runs;
    search s = {};
    s.vertices = 2000, s.degree = 4, s.seed = 1;
    GIO_OPTIONS(argc, argv, GPU_OPTIONS(runs, INTER_K), SEARCH_OPTIONS(s));
    gpu_begin();
    s.groups = runs.blocks;
    s.count = gpu_memory<unsigned>(search_begin(&s));
    s.distance = gpu_memory<unsigned>((size_t)s.own);
    s.sent = gpu_memory<unsigned>((size_t)s.vertices);
    for (unsigned *&found : s.found) found = gpu_memory<unsigned>((size_t)s.own);
    s.many = gpu_memory<unsigned>(2);
    s.meeting = gpu_memory<unsigned>(1);
    s.sum = gpu_pinned<uint64_t>(2);
    const long root = search_root(&s, 0);
    std::vector<unsigned> distance((size_t)s.own);
    uint64_t step = s.sum[1] = 1;
    gpu_measure(
        runs, INTER_K, "search", std::to_string(s.vertices), sizeof(unsigned), NULL, [&] { start(s, root); },
        [&](int mode, const gpu_way &way) {
            if (mode == INTER_K) s.sum[1] = outside(s, step);
            else gpu_launch(inside, s.groups, GPU_THREADS, s, way, step);
        },
        [&] {
            step = s.sum[1];
            gpu_copy(distance.data(), s.distance, distance.size() * sizeof(unsigned));
            return search_is_right(&s, root, distance.data());
        });
    return gpu_end();
}
