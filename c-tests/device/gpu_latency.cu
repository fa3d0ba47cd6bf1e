/* Latency of operations by who posts them, on the device (figure 5 of "GPU Initiated OpenSHMEM").
 *
 *     oshrun -n 2 gpu_latency [--mode gio|ikn|interk|all] [--count N] [--sizes LIST] [--blocks LIST]
 *
 * PE 0 works on the heap of PE 1, which sleeps in a barrier. One operation, then quiet: each is timed by itself, by the
 * clock of the block's processor (interk and cpu: by the host's). Rows (gpu.h), microseconds:
 *
 *   gio      put, signal, p, get, add, fetch-add from templates; `built`: a put whose whole descriptor is built
 *   ikn      put, by a CPU thread on the block's request
 *   interk   an empty kernel until it has ended, then the host's shmem_putmem and shmem_quiet
 *   cpu      the same without a kernel: the floor; `kernel`: the kernel alone
 *
 * and put of 8 bytes by the number of blocks that put at once: the times of the first one. */
#include "gpu.h"

enum what { PUT, BUILT, SIGNAL, P, GET, ADD, FETCH_ADD, WHATS };
static const char *const whats[] = {"put", "built", "signal", "p", "get", "add", "fetch-add"};

/* What blocks post, and where their times go. */
struct work {
    gpu_way way;
    char *dest, *source;
    uint64_t *flags;
    uint64_t *ticks; /* pinned: of block 0, then the span in ticks and in nanoseconds */
    size_t bytes;
    int what, count;
};

__device__ inline void one(gpu_poster *p, const work &w, char *dest, char *source, uint64_t *flag, uint64_t i) {
    uint64_t old;
    switch (w.what) {
    case PUT: gpu_put(p, 1, dest, source, w.bytes); break;
    case BUILT: p->bad |= hetmp_put_built(&p->q, 1, dest, source, w.bytes); break;
    case SIGNAL: gpu_put_signal(p, 1, dest, source, w.bytes, flag, i); break;
    case P: p->bad |= hetmp_p64(&p->q, 1, (uint64_t *)dest, i); break;
    case GET: p->bad |= hetmp_get(&p->q, 1, source, dest, w.bytes); break;
    case ADD: p->bad |= hetmp_atomic_add(&p->q, 1, flag, 1); break;
    default: p->bad |= hetmp_atomic_fetch_add(&p->q, 1, flag, 1, &old); break;
    }
    gpu_ring(p);
    gpu_quiet(p);
}

__global__ void measure(work w) {
    if (!HETMP_WG_LEADER()) return;
    gpu_poster p;
    gpu_poster_begin(&p, w.way);
    char *dest = w.dest + blockIdx.x * w.bytes, *source = w.source + blockIdx.x * w.bytes;
    uint64_t *flag = w.flags + blockIdx.x;
    for (int i = 0; i < 3; i++) one(&p, w, dest, source, flag, 0);
    uint64_t since = gpu_nanoseconds(), begin = gpu_ticks(), last = begin;
    for (int i = 0; i < w.count; i++) {
        one(&p, w, dest, source, flag, (uint64_t)i);
        uint64_t now = gpu_ticks();
        if (blockIdx.x == 0) hetmp_word_set(w.ticks + i, now - last);
        last = gpu_ticks();
    }
    if (blockIdx.x == 0) {
        hetmp_word_set(w.ticks + w.count, last - begin);
        hetmp_word_set(w.ticks + w.count + 1, gpu_nanoseconds() - since);
    }
    gpu_poster_end(&p, w.way);
}

__global__ void empty_kernel(int) {}

static char *there, *here;
static uint64_t *flags;

static void inside(int mode, int what, size_t bytes, int blocks, int count) {
    gpu_host h;
    gpu_open(&h, mode, blocks);
    work w = {h.way, there, here, flags, gpu_pinned<uint64_t>((size_t)count + 2), bytes, what, count};
    gpu_launch(measure, blocks, GPU_THREADS, w);
    gpu_wait();
    gpu_close(&h);
    double us = w.ticks[count] ? 1e-3 * (double)w.ticks[count + 1] / (double)w.ticks[count] : 0;
    std::vector<double> values;
    for (int i = 0; i < count; i++) values.push_back(us * (double)w.ticks[i]);
    int moves = what == PUT || what == BUILT || what == SIGNAL || what == GET;
    gpu_row("latency", gio_modes[mode], whats[what], moves ? bytes : 8, blocks, "us", values, "");
}

/* kernel: launched and waited for; put: and the host's put after it. */
static void outside(const char *mode, const char *name, size_t bytes, int kernel, int put, int count) {
    std::vector<double> values;
    for (int i = -3; i < count; i++) {
        double began = gio_now();
        if (kernel) {
            gpu_launch(empty_kernel, 1, GPU_THREADS, 0);
            gpu_wait();
        }
        if (put) {
            shmem_putmem(there, here, bytes, 1);
            shmem_quiet();
        }
        if (i >= 0) values.push_back(1e6 * (gio_now() - began));
    }
    gpu_row("latency", mode, name, bytes, 1, "us", values, "");
}

static std::vector<long> list_of(const char *what, const char *text, long most) {
    std::vector<long> numbers;
    std::string rest = text;
    for (size_t at = 0; at <= rest.size();) {
        size_t comma = std::min(rest.find(',', at), rest.size());
        numbers.push_back(gio_number(what, rest.substr(at, comma - at).c_str(), 1, most));
        at = comma + 1;
    }
    return numbers;
}

int main(int argc, char **argv) {
    int mode = GIO_MODES, count = 1000;
    const char *some_sizes = "8,64,1024,16384,262144,1048576", *some_blocks = "1,2,4,8,16,32,64";
    GIO_OPTIONS(argc, argv, {"--mode", GIO_MODE, &mode, 0, INTER_K}, {"--count", GIO_INT, &count, 1, 1000000},
                {"--sizes", GIO_TEXT, &some_sizes, 0, 0}, {"--blocks", GIO_TEXT, &some_blocks, 0, 0});
    std::vector<long> sizes = list_of("--sizes", some_sizes, 1 << 24);
    std::vector<long> blocks = list_of("--blocks", some_blocks, GPU_MOST_BLOCKS);
    gpu_begin();
    if (gio_pes < 2) gio_die("PEs %d: not usable (expected 2 or more)", gio_pes);
    size_t largest = (size_t)*std::max_element(sizes.begin(), sizes.end());
    largest = std::max<size_t>(largest, 8 * GPU_MOST_BLOCKS);
    there = gpu_symmetric<char>(largest);
    flags = gpu_symmetric<uint64_t>(GPU_MOST_BLOCKS);
    here = gpu_pinned<char>(largest);
    shmem_barrier_all();
    if (gio_me == 0) {
        auto wanted = [&](int m) { return mode == m || mode == GIO_MODES; };
        for (long size : sizes) {
            size_t bytes = (size_t)size;
            int few = bytes > 65536 ? std::max(1, count / 10) : count;
            if (wanted(GIO))
                for (int what : {PUT, BUILT, SIGNAL, GET}) inside(GIO, what, bytes, 1, few);
            if (wanted(IKN)) inside(IKN, PUT, bytes, 1, few);
            if (wanted(INTER_K)) {
                outside("interk", "put", bytes, 1, 1, few);
                outside("cpu", "put", bytes, 0, 1, few);
            }
        }
        if (wanted(INTER_K)) outside("cpu", "kernel", 0, 1, 0, count);
        if (wanted(GIO))
            for (int what : {P, ADD, FETCH_ADD}) inside(GIO, what, 8, 1, count);
        for (long n : blocks) {
            if (n == 1) continue; /* above */
            if (wanted(GIO)) inside(GIO, PUT, 8, (int)n, count);
            if (wanted(IKN)) inside(IKN, PUT, 8, (int)n, count);
        }
    }
    return gpu_end();
}
