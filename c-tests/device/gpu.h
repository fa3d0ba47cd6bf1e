/* What the programs for a GPU (gpu_*.cu) share next to ../apps/modes.h: memory that host and device see, launches, time
 * on the device, and who posts.
 *
 *     nvcc -arch=sm_90a ... gpu_check.cu                        on the device
 *     g++ -std=c++17 -x c++ -DHETMP_TEST_GPU_SHIM gpu_check.cu  here: threads of a process (gpu_shim.h)
 *
 * Queues and the symmetric heap are the library's memory, pinned and mapped; the library's software adapter serves them
 * from CPU cores. A pinned address is the same on both sides, or the program says that it is not.
 *
 * Standard output, from PE 0: one line a result, comma-separated,
 *     part,mode,case,bytes,blocks,pes,count,unit,p10,p50,p90,p99,least,most,verdict
 * Status 0: right; 1: not; 2: bad use or no device. */
#ifndef GPU_H
#define GPU_H

#ifdef HETMP_TEST_GPU_SHIM
#include "gpu_shim.h"
#else
#include <cuda_runtime.h>
#endif
#include "../apps/modes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#ifdef HETMP_TEST_GPU_SHIM
enum { GPU_THREADS = 2, GPU_MOST_BLOCKS = 4 };
#define GPU_HELPER_FLAGS HETMP_DEVICE_POLLED /* all of this program is the device's half of the header */
#else
enum { GPU_THREADS = 128, GPU_MOST_BLOCKS = 64 }; /* of four PEs' kernels, all blocks are resident */
#define GPU_HELPER_FLAGS 0
#endif

static int gpu_bad;

static inline void gpu_ok(const char *what, int status) { gio_check(what, gio_me, status); }

/* ---- The device. */

#ifdef HETMP_TEST_GPU_SHIM
template <class... P, class... A>
static inline void gpu_launch_in(int stream, void (*kernel)(P...), int blocks, int threads, A... arguments) {
    gpu_shim_launch(stream, kernel, (unsigned)blocks, (unsigned)threads, (P)arguments...);
}
static inline void gpu_wait_for(int stream) { gpu_shim_wait(stream); }
static inline void gpu_device(void) {}
static inline void gpu_map_pages(uintptr_t, size_t) {}
static inline void *gpu_raw(size_t bytes, int) { return gio_memory(bytes); }
static inline void gpu_copy(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); }
/* Ticks of a clock of this block's processor, and nanoseconds of one that all blocks share. */
__device__ inline uint64_t gpu_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
__device__ inline uint64_t gpu_ticks(void) { return gpu_nanoseconds(); }
#else
static inline void gpu_cuda(const char *what, cudaError_t error) {
    if (error != cudaSuccess) gio_end(1, "%s: PE %d: %s", what, gio_me, cudaGetErrorString(error));
}
static cudaStream_t gpu_second;
static inline cudaStream_t gpu_stream(int stream) {
    if (stream == 0) return 0;
    if (!gpu_second)
        gpu_cuda("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&gpu_second, cudaStreamNonBlocking));
    return gpu_second;
}
template <class... P, class... A>
static inline void gpu_launch_in(int stream, void (*kernel)(P...), int blocks, int threads, A... arguments) {
    kernel<<<blocks, threads, 0, gpu_stream(stream)>>>((P)arguments...);
    gpu_cuda("kernel launch", cudaGetLastError());
}
static inline void gpu_wait_for(int stream) {
    gpu_cuda("cudaStreamSynchronize", cudaStreamSynchronize(gpu_stream(stream)));
}
static inline void gpu_device(void) {
    int devices = 0;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0)
        gio_die("no device: %s (expected a GPU that CUDA can use)", cudaGetErrorString(error));
    gpu_cuda("cudaSetDevice", cudaSetDevice(0));
}
static inline void gpu_map_pages(uintptr_t at, size_t bytes) {
    cudaError_t error = cudaHostRegister((void *)at, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
    if (error != cudaSuccess)
        gio_end(1, "cudaHostRegister of %zu bytes at %#zx: PE %d: %s", bytes, (size_t)at, gio_me,
                cudaGetErrorString(error));
    void *there = NULL;
    gpu_cuda("cudaHostGetDevicePointer", cudaHostGetDevicePointer(&there, (void *)at, 0));
    if (there != (void *)at)
        gio_die("device 0: pinned memory has other addresses on it than on the host (expected the same)");
}
static inline void *gpu_raw(size_t bytes, int pinned) {
    void *at = NULL;
    if (pinned) gpu_cuda("cudaHostAlloc", cudaHostAlloc(&at, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
    else gpu_cuda("cudaMalloc", cudaMalloc(&at, bytes));
    if (pinned) memset(at, 0, bytes);
    else gpu_cuda("cudaMemset", cudaMemset(at, 0, bytes));
    gpu_wait_for(0);
    return at;
}
/* Over when it returns: from ordinary memory, cudaMemcpy alone need not be, and the second stream does not wait. */
static inline void gpu_copy(void *to, const void *from, size_t bytes) {
    gpu_cuda("cudaMemcpy", cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
    gpu_wait_for(0);
}
__device__ inline uint64_t gpu_nanoseconds(void) {
    uint64_t t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}
__device__ inline uint64_t gpu_ticks(void) { return (uint64_t)clock64(); }
#endif

/* Two streams; most programs use one. */
template <class... P, class... A>
static inline void gpu_launch(void (*kernel)(P...), int blocks, int threads, A... arguments) {
    gpu_launch_in(0, kernel, blocks, threads, arguments...);
}
static inline void gpu_wait(void) {
    gpu_wait_for(0);
    gpu_wait_for(1);
}

/* Maps the pages of a range that are not mapped yet: ranges of queues share pages, and a page is registered once. */
static inline void gpu_map(const void *memory, size_t bytes) {
    static std::vector<uintptr_t> mapped; /* pages, rising */
    const uintptr_t page = 4096;
    uintptr_t at = (uintptr_t)memory & ~(page - 1), end = ((uintptr_t)memory + bytes + page - 1) & ~(page - 1);
    while (at < end) {
        auto next = std::lower_bound(mapped.begin(), mapped.end(), at);
        if (next != mapped.end() && *next == at) {
            at += page;
            continue;
        }
        uintptr_t until = next == mapped.end() ? end : std::min(end, *next);
        gpu_map_pages(at, until - at);
        std::vector<uintptr_t> more;
        for (; at < until; at += page) more.push_back(at);
        mapped.insert(next, more.begin(), more.end());
    }
}

/* Zeroed memory that host and device see, or that only the device sees. */
template <class T> static inline T *gpu_pinned(size_t n) { return (T *)gpu_raw((n ? n : 1) * sizeof(T), 1); }
template <class T> static inline T *gpu_memory(size_t n) { return (T *)gpu_raw((n ? n : 1) * sizeof(T), 0); }
template <class T> static inline T *gpu_memory_of(const std::vector<T> &values) {
    T *at = gpu_memory<T>(values.size());
    if (!values.empty()) gpu_copy(at, values.data(), values.size() * sizeof(T));
    return at;
}
template <class T> static inline T *gpu_symmetric(size_t n) { return (T *)gio_symmetric(n * sizeof(T)); }

/* All queues that a device uses are mapped here. They stay open to the end where others are opened later: memory that
 * was given back and taken anew at its address would be other pages than those that the device has. */
static inline void gpu_map_queue(const hetmp_device_queue *q) {
    void *base;
    size_t bytes;
    for (unsigned i = 0; hetmp_device_queue_range(q, i, &base, &bytes) == HETMP_DEVICE_OK; i++) gpu_map(base, bytes);
    gpu_map((const void *)(uintptr_t)q->heap, q->heap_bytes);
}
/* The first n of the queues of all kernels, one for each block. */
static hetmp_device_queue *gpu_pool;
static int gpu_pool_open;
static inline hetmp_device_queue *gpu_queues(int n) {
    if (!gpu_pool) gpu_pool = gpu_pinned<hetmp_device_queue>(GPU_MOST_BLOCKS);
    for (; gpu_pool_open < n; gpu_pool_open++) {
        gpu_ok("hetmp_device_queue_open", hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, 64, HETMP_DEVICE_POLLED,
                                                                        gpu_pool + gpu_pool_open));
        gpu_map_queue(gpu_pool + gpu_pool_open);
    }
    return gpu_pool;
}

/* Numbers travel as words. */
__device__ inline double gpu_number(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
__device__ inline uint64_t gpu_bits(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* ---- Blocks of one grid meet. All of them must be resident. */

__device__ inline void gpu_meet(unsigned *counter, unsigned *turn) {
    __threadfence();
    __syncthreads();
    if (HETMP_WG_LEADER()) {
        *turn += gridDim.x;
        atomicAdd(counter, 1u);
        while (*(volatile unsigned *)counter < *turn) __threadfence();
        __threadfence();
    }
    __syncthreads();
}

/* ---- Who posts. */

enum { GPU_RING = 16, GPU_PUT = 1, GPU_PUT_SIGNAL, GPU_P_SIGNAL };
struct gpu_request {
    uint64_t turn; /* its position plus 1, when it is whole */
    uint64_t kind, pe, dest, source, bytes, signal, value;
};
/* The requests of one block. */
struct gpu_box {
    gpu_request ring[GPU_RING];
    uint64_t completed; /* by the CPU thread */
    uint64_t submitted; /* by the block, at its kernel's end */
    uint64_t apart[6];
};

/* A block's end of it. The leader calls all of these. */
struct gpu_poster {
    hetmp_device_queue q; /* a copy, in the block's own memory */
    hetmp_device_queue *home;
    gpu_box *box; /* of ikn, else NULL */
    uint64_t submitted;
    int bad;
};
/* What a kernel is given. */
struct gpu_way {
    hetmp_device_queue *queues;
    gpu_box *boxes;
    int *bad; /* pinned: the first status that was not 0 */
};

__device__ inline void gpu_poster_begin(gpu_poster *p, const gpu_way &way) {
    p->box = way.boxes ? way.boxes + blockIdx.x : NULL;
    p->home = way.queues ? way.queues + blockIdx.x : NULL;
    if (p->home) p->q = *p->home;
    p->submitted = p->box ? hetmp_word_get(&p->box->submitted) : 0;
    p->bad = 0;
}
__device__ inline void gpu_submit(gpu_poster *p, uint64_t kind, int pe, const void *dest, const void *source,
                                  uint64_t bytes, const uint64_t *signal, uint64_t value) {
    gpu_request *r = &p->box->ring[p->submitted % GPU_RING];
    while (p->submitted - hetmp_word_acquire(&p->box->completed) >= GPU_RING) {}
    hetmp_word_set(&r->kind, kind);
    hetmp_word_set(&r->pe, (uint64_t)pe);
    hetmp_word_set(&r->dest, (uint64_t)(uintptr_t)dest);
    hetmp_word_set(&r->source, (uint64_t)(uintptr_t)source);
    hetmp_word_set(&r->bytes, bytes);
    hetmp_word_set(&r->signal, (uint64_t)(uintptr_t)signal);
    hetmp_word_set(&r->value, value);
    hetmp_word_release(&r->turn, ++p->submitted);
}
__device__ inline void gpu_put(gpu_poster *p, int pe, void *dest, const void *source, size_t bytes) {
    if (p->box) gpu_submit(p, GPU_PUT, pe, dest, source, bytes, NULL, 0);
    else p->bad |= hetmp_put(&p->q, pe, dest, source, bytes);
}
__device__ inline void gpu_put_signal(gpu_poster *p, int pe, void *dest, const void *source, size_t bytes,
                                      uint64_t *signal, uint64_t value) {
    if (p->box) gpu_submit(p, GPU_PUT_SIGNAL, pe, dest, source, bytes, signal, value);
    else p->bad |= hetmp_put_signal(&p->q, pe, dest, source, bytes, signal, value);
}
/* `content`: 64 bits. */
__device__ inline void gpu_p_signal(gpu_poster *p, int pe, void *dest, uint64_t content, uint64_t *signal,
                                    uint64_t value) {
    if (p->box) gpu_submit(p, GPU_P_SIGNAL, pe, dest, NULL, content, signal, value);
    else p->bad |= hetmp_p64_signal(&p->q, pe, (uint64_t *)dest, content, signal, value);
}
__device__ inline void gpu_ring(gpu_poster *p) {
    if (!p->box) hetmp_ring(&p->q);
}
__device__ inline void gpu_quiet(gpu_poster *p) {
    if (!p->box) p->bad |= hetmp_quiet(&p->q);
    else
        while (hetmp_word_acquire(&p->box->completed) < p->submitted) {}
}
/* Everything has arrived; the host may close the queue. */
__device__ inline void gpu_poster_end(gpu_poster *p, const gpu_way &way) {
    gpu_quiet(p);
    if (p->home) *p->home = p->q;
    if (p->box) hetmp_word_set(&p->box->submitted, p->submitted);
    if (p->bad) *way.bad = p->bad;
}

/* The host's half: the queues, or the CPU thread of ikn. */
struct gpu_host {
    gpu_way way;
    int blocks = 0, mode = INTER_K;
    std::thread helper;
    std::atomic<int> stop;
};

static inline void gpu_help(gpu_host *h) {
    hetmp_device_queue q;
    gpu_ok("hetmp_device_queue_open", hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, 256, GPU_HELPER_FLAGS, &q));
    std::vector<uint64_t> taken((size_t)h->blocks);
    bool owing = false;
    for (;;) {
        bool worked = false;
        for (int b = 0; b < h->blocks; b++) {
            gpu_box *box = h->way.boxes + b;
            gpu_request *r = &box->ring[taken[(size_t)b] % GPU_RING];
            if (hetmp_word_acquire(&r->turn) != taken[(size_t)b] + 1) continue;
            int pe = (int)r->pe, bad;
            if (r->kind == GPU_PUT) bad = hetmp_put_built(&q, pe, (void *)r->dest, (const void *)r->source, r->bytes);
            else if (r->kind == GPU_PUT_SIGNAL)
                bad = hetmp_put_signal(&q, pe, (void *)r->dest, (const void *)r->source, r->bytes,
                                       (uint64_t *)r->signal, r->value);
            else bad = hetmp_p64_signal(&q, pe, (uint64_t *)r->dest, r->bytes, (uint64_t *)r->signal, r->value);
            gpu_ok("request", bad);
            taken[(size_t)b]++;
            worked = true;
        }
        if (worked) {
            gpu_ok("hetmp_ring", hetmp_ring(&q));
            owing = true;
        }
        if (owing && hetmp_is_quiet(&q)) {
            gpu_ok("hetmp_quiet", hetmp_quiet(&q));
            for (int b = 0; b < h->blocks; b++) hetmp_word_release(&h->way.boxes[b].completed, taken[(size_t)b]);
            owing = false;
        } else if (!worked) {
            if (!owing && h->stop.load()) break;
            std::this_thread::yield();
        }
    }
    gpu_ok("hetmp_device_queue_close", hetmp_device_queue_close(&q));
}

static inline void gpu_open(gpu_host *h, int mode, int blocks) {
    h->mode = mode;
    h->blocks = blocks;
    h->stop = 0;
    h->way = gpu_way{NULL, NULL, gpu_pinned<int>(1)};
    if (mode == GIO) h->way.queues = gpu_queues(blocks);
    if (mode == IKN) {
        h->way.boxes = gpu_pinned<gpu_box>((size_t)blocks);
        h->helper = std::thread(gpu_help, h);
    }
}
static inline void gpu_close(gpu_host *h) {
    gpu_ok("posting in a kernel", *h->way.bad);
    if (h->mode == IKN) {
        h->stop = 1;
        h->helper.join();
    }
}

/* ---- Begin, end, results. */

static inline void gpu_begin(void) {
    gio_init();
    gpu_device();
    gpu_queues(1); /* maps the heap */
}
static inline int gpu_end(void) {
    static int mine, all;
    mine = gpu_bad;
    for (int i = 0; i < gpu_pool_open; i++)
        gpu_ok("hetmp_device_queue_close", hetmp_device_queue_close(gpu_pool + i));
    shmem_barrier_all();
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    shmem_finalize();
    return all;
}

static inline void gpu_row(const char *part, const char *mode, const char *name, size_t bytes, int blocks,
                           const char *unit, std::vector<double> values, const char *verdict) {
    if (gio_me != 0 || values.empty()) return;
    std::sort(values.begin(), values.end());
    auto at = [&](double p) { return values[(size_t)(p * (double)(values.size() - 1) + 0.5)]; };
    printf("%s,%s,%s,%zu,%d,%d,%zu,%s,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g,%s\n", part, mode, name, bytes, blocks, gio_pes,
           values.size(), unit, at(.1), at(.5), at(.9), at(.99), values.front(), values.back(), verdict);
    fflush(stdout);
}

/* The options of an application, which has the modes up to `last`. */
struct gpu_runs {
    int mode, blocks;
    long repeats;
};
static const gpu_runs gpu_all_runs = {GIO_MODES, GPU_MOST_BLOCKS, 3};
#define GPU_OPTIONS(runs, last)                                                                     \
    {"--mode", GIO_MODE, &(runs).mode, 0, last}, {"--repeats", GIO_LONG, &(runs).repeats, 1, 1000}, \
        {"--blocks", GIO_INT, &(runs).blocks, 1, GPU_MOST_BLOCKS}

/* An application's rows: milliseconds of each mode. `start` comes before a run and is not timed, `run` is given the
 * mode and what its kernels need, `is_right` looks at the result. `verified`: NULL, or the verdict if nothing is
 * compared. */
template <class Start, class Run, class Right>
static inline void gpu_measure(const gpu_runs &runs, int last, const char *part, const std::string &name, size_t bytes,
                               const char *verified, Start start, Run run, Right is_right) {
    for (int m = GIO; m <= last; m++) {
        if (runs.mode != m && runs.mode != GIO_MODES) continue;
        std::vector<double> ms;
        int right = 1;
        for (long r = -1; r < runs.repeats; r++) { /* once more at the beginning: caches, pages, threads */
            gpu_host h;
            start();
            gpu_open(&h, m, runs.blocks);
            shmem_barrier_all();
            double began = gio_now();
            run(m, h.way);
            gpu_wait();
            shmem_barrier_all();
            if (r >= 0) ms.push_back(1e3 * (gio_now() - began));
            gpu_close(&h);
            right &= is_right();
        }
        right = gio_agree(right);
        gpu_bad |= !right;
        gpu_row(part, gio_modes[m], name.c_str(), bytes, runs.blocks, "ms", ms,
                !right ? "wrong" : verified ? verified : "right");
    }
}

#endif
