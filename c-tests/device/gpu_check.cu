/* Every call of hetmp/device.h, made by kernels, by threads and by blocks; between kernels the host looks at what came.
 *
 *     oshrun -n PES gpu_check [CASE]
 *
 * Output: a row a case (gpu.h). A check that fails is a line with its place. */
#include "gpu.h"

enum { WORDS = 4096, QUEUES = 4, FAILURES = 16, BLOCK = 96 };

/* What kernels and host share. */
struct shared {
    hetmp_device_queue *queues, *small;
    uint64_t *table, *flags; /* symmetric */
    uint64_t *source;        /* pinned */
    unsigned *failed;        /* pinned: how many, then lines */
    hetmp_device_contexts *pool;
    hetmp_device_group *group;
    int me, pes, right, left;
};
static shared g;

__device__ inline void failed_at(const shared &s, unsigned line) {
    unsigned n = atomicAdd(s.failed, 1u);
    if (n + 1 < FAILURES) s.failed[n + 1] = line;
}
#define CHECK(condition) \
    do {                                             \
        if (!(condition)) failed_at(s, __LINE__);    \
    } while (0)
#define HOST_CHECK(condition)                                                          \
    do {                                                                               \
        if (!(condition)) {                                                            \
            fprintf(stderr, "hetmp: gpu_check.cu:%d: PE %d: %s\n", __LINE__, gio_me, #condition); \
            gpu_bad = 1;                                                               \
        }                                                                              \
    } while (0)

__device__ inline uint64_t seen(const uint64_t *word) { return hetmp_word_acquire(word); }

/* ---- One thread. */

__global__ void values_kernel(shared s) {
    hetmp_device_queue q = s.queues[0];
    for (unsigned i = 0; i < 64; i++) s.source[i] = 1000u * (unsigned)s.me + i;
    CHECK(hetmp_put(&q, s.right, s.table, s.source, 64 * 8) == 0);
    CHECK(hetmp_p64(&q, s.right, s.table + 100, 7000 + (uint64_t)s.me) == 0);
    CHECK(hetmp_p32(&q, s.right, (uint32_t *)(s.table + 101), 0xdeadbeef) == 0);
    CHECK(hetmp_p(&q, s.right, (char *)(s.table + 101) + 6, 0x1234, 2) == 0);
    CHECK(hetmp_p(&q, s.right, (char *)(s.table + 101) + 5, 0xab, 1) == 0);
    CHECK(hetmp_put_built(&q, s.right, s.table + 200, s.source, 40) == 0);
    CHECK(hetmp_put(&q, s.right, (char *)(s.table + 300) + 3, (const char *)s.source + 1, 13) == 0);
    CHECK(hetmp_put(&q, s.right, s.table, NULL, 0) == 0);
    CHECK(hetmp_quiet(&q) == 0 && hetmp_is_quiet(&q) == 1);
    s.queues[0] = q;
}
static void values(void) {
    gpu_launch(values_kernel, 1, 1, g);
    gpu_wait();
    shmem_barrier_all();
    uint64_t left = (uint64_t)g.left;
    std::vector<uint64_t> came(64);
    for (unsigned i = 0; i < 64; i++) {
        HOST_CHECK(g.table[i] == 1000 * left + i);
        came[i] = 1000 * left + i;
    }
    HOST_CHECK(g.table[100] == 7000 + left);
    HOST_CHECK(g.table[101] == 0x1234ab00deadbeefull);
    HOST_CHECK(g.table[204] == 1000 * left + 4 && g.table[205] == 0);
    HOST_CHECK(memcmp((char *)(g.table + 300) + 3, (char *)came.data() + 1, 13) == 0);
}

__global__ void gets_kernel(shared s) {
    hetmp_device_queue q = s.queues[0];
    for (unsigned i = 0; i < 256; i += 16) CHECK(hetmp_get(&q, s.right, s.source + i, s.table + i, 128) == 0);
    CHECK(hetmp_quiet(&q) == 0);
    for (unsigned i = 0; i < 256; i++) CHECK(seen(s.source + i) == 100000u * (unsigned)s.right + i);
    s.queues[0] = q;
}
static void gets(void) {
    for (unsigned i = 0; i < 256; i++) g.table[i] = 100000u * (unsigned)g.me + i;
    shmem_barrier_all();
    gpu_launch(gets_kernel, 1, 1, g);
    gpu_wait();
}

/* Data and signals go round; a signal is never seen before its data. */
__global__ void signals_kernel(shared s) {
    hetmp_device_queue q = s.queues[0];
    for (uint64_t round = 1; round <= 10; round++) {
        for (unsigned i = 0; i < 128; i++) s.source[i] = round * 512 + i;
        CHECK(hetmp_put_signal(&q, s.right, s.table, s.source, 1024, s.flags, round) == 0);
        CHECK(hetmp_ring(&q) == 0);
        CHECK(hetmp_wait_until(s.flags, SHMEM_CMP_GE, round) == 0);
        for (unsigned i = 0; i < 128; i++) CHECK(seen(s.table + i) == round * 512 + i);
        CHECK(hetmp_put_signal_op(&q, s.left, s.table, NULL, 0, s.flags + 1, 1, SHMEM_SIGNAL_ADD) == 0);
        hetmp_ring(&q);
        hetmp_wait_until(s.flags + 1, SHMEM_CMP_GE, round);
        CHECK(hetmp_quiet(&q) == 0);
    }
    CHECK(hetmp_p64_signal(&q, s.right, s.table + 700, 77, s.flags + 2, 5) == 0);
    hetmp_ring(&q);
    hetmp_wait_until(s.flags + 2, SHMEM_CMP_EQ, 5);
    CHECK(seen(s.table + 700) == 77);
    /* Data, fence, flag. */
    for (uint64_t round = 1; round <= 10; round++) {
        CHECK(hetmp_put(&q, s.right, s.table + 800, s.source, 512) == 0);
        CHECK((round & 1 ? hetmp_fence(&q) : hetmp_fence_pe(&q, s.right)) == 0);
        CHECK(hetmp_p64(&q, s.right, s.flags + 3, round) == 0);
        hetmp_ring(&q);
        hetmp_wait_until(s.flags + 3, SHMEM_CMP_GE, round);
        CHECK(seen(s.table + 800) == 10 * 512 && seen(s.table + 863) == 10 * 512 + 63);
        CHECK(hetmp_quiet(&q) == 0);
    }
    s.queues[0] = q;
}
static void signals(void) {
    gpu_launch(signals_kernel, 1, 1, g);
    gpu_wait();
}

/* Several blocks, each with a queue of its own. */
__global__ void atomics_kernel(shared s) {
    if (!HETMP_WG_LEADER()) return;
    hetmp_device_queue q = s.queues[blockIdx.x];
    uint64_t old = 0, sum = 0;
    for (int i = 0; i < 30; i++)
        for (int pe = 0; pe < s.pes; pe++) {
            CHECK(hetmp_atomic_add(&q, pe, s.table, 3) == 0);
            CHECK(hetmp_atomic_add32(&q, pe, (uint32_t *)(s.table + 1), 1) == 0);
        }
    hetmp_ring(&q);
    for (int i = 0; i < 10; i++) {
        CHECK(hetmp_atomic_fetch_add(&q, 0, s.table + 2, 1, &old) == 0);
        sum += old + 1;
    }
    CHECK(hetmp_atomic_add(&q, 0, s.table + 3, sum) == 0);
    uint64_t *own = s.table + 16 + blockIdx.x;
    CHECK(hetmp_atomic_set(&q, s.me, own, 5) == 0 && hetmp_fence_pe(&q, s.me) == 0);
    CHECK(hetmp_atomic_compare_swap(&q, s.me, own, 4, 9, &old) == 0 && old == 5);
    CHECK(hetmp_atomic_compare_swap(&q, s.me, own, 5, 9, &old) == 0 && old == 5);
    CHECK(hetmp_atomic_fetch(&q, s.me, own, &old) == 0 && old == 9);
    CHECK(hetmp_quiet(&q) == 0);
    s.queues[blockIdx.x] = q;
}
static void atomics(void) {
    gpu_launch(atomics_kernel, QUEUES, GPU_THREADS, g);
    gpu_wait();
    shmem_barrier_all();
    uint64_t each = (uint64_t)QUEUES * (uint64_t)g.pes, n = 10 * each;
    HOST_CHECK(g.table[0] == 90 * each && g.table[1] == 30 * each);
    if (g.me == 0) HOST_CHECK(g.table[2] == n && g.table[3] == n * (n + 1) / 2);
}

/* A queue of 2 slots, hundreds of operations. */
__global__ void full_kernel(shared s) {
    hetmp_device_queue q = *s.small;
    for (unsigned i = 0; i < 100; i++) {
        s.source[i] = i + 1;
        hetmp_word_publish();
        CHECK(hetmp_put(&q, s.right, s.table + i, s.source + i, 8) == 0);
        CHECK(hetmp_atomic_add(&q, s.right, s.table + 1001, 1) == 0);
    }
    CHECK(hetmp_quiet(&q) == 0 && q.mask == 1 && q.staged >= 200);
    *s.small = q;
}
static void full_queue(void) {
    gpu_launch(full_kernel, 1, 1, g);
    gpu_wait();
    shmem_barrier_all();
    for (unsigned i = 0; i < 100; i++) HOST_CHECK(g.table[i] == i + 1);
    HOST_CHECK(g.table[1001] == 100);
}

/* Comparisons, several words, 32 bits. */
__global__ void waits_kernel(shared s) {
    hetmp_device_queue q = s.queues[0];
    uint64_t *f = s.flags;
    int status[4] = {0, 1, 0, 1};
    const int cmp[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
    const uint64_t value[] = {7, 0, 6, 7, 8, 7};
    for (int i = 0; i < 6; i++) {
        CHECK(hetmp_p64(&q, s.right, f + i, 7) == 0);
        hetmp_ring(&q);
        CHECK(hetmp_wait_until(f + i, SHMEM_CMP_NE, 0) == 0);
        CHECK(hetmp_wait_until(f + i, cmp[i], value[i]) == 0 && hetmp_test(f + i, cmp[i], value[i]) == 1);
    }
    CHECK(hetmp_p32(&q, s.right, (uint32_t *)(f + 9), 0x80000000u) == 0);
    hetmp_ring(&q);
    CHECK(hetmp_wait_until32((uint32_t *)(f + 9), SHMEM_CMP_GE, 0x7fffffffu) == 0);
    CHECK(hetmp_test32((uint32_t *)(f + 9), SHMEM_CMP_EQ, 0x80000000u) == 1);
    CHECK(hetmp_test(f + 10, SHMEM_CMP_NE, 0) == 0 && hetmp_test_all(f, 6, NULL, SHMEM_CMP_EQ, 7) == 1);
    CHECK(hetmp_test_any(f, 6, NULL, SHMEM_CMP_EQ, 8) == HETMP_DEVICE_NONE);
    CHECK(hetmp_wait_until_all(f, 6, NULL, SHMEM_CMP_EQ, 7) == 0);
    CHECK(hetmp_wait_until_any(f, 4, status, SHMEM_CMP_EQ, 7) == 0);
    CHECK(hetmp_test_any(f, 4, status, SHMEM_CMP_GE, 1) == 0);
    CHECK(hetmp_wait_until(f, 99, 0) == HETMP_DEVICE_BAD_COMPARISON);
    CHECK(hetmp_test(f, -1, 0) == HETMP_DEVICE_BAD_COMPARISON);
    CHECK(hetmp_quiet(&q) == 0);
    s.queues[0] = q;
}
static void waits(void) {
    gpu_launch(waits_kernel, 1, 1, g);
    gpu_wait();
}

__global__ void refused_kernel(shared s) {
    hetmp_device_queue q = s.queues[0], none = q;
    uint64_t *off = (uint64_t *)((char *)s.table + 4), old = 0;
    none.pes = 0;
    CHECK(hetmp_put(&q, s.pes, s.table, s.source, 8) == HETMP_DEVICE_BAD_PE);
    CHECK(hetmp_put(&q, -1, s.table, s.source, 8) == HETMP_DEVICE_BAD_PE);
    CHECK(hetmp_put(&q, s.right, s.source, s.source, 8) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_get(&q, s.right, s.source, s.source, 8) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_p64(&q, s.right, off, 1) == HETMP_DEVICE_MISALIGNED);
    CHECK(hetmp_p(&q, s.right, s.table, 1, 3) == HETMP_DEVICE_BAD_SIZE);
    CHECK(hetmp_atomic_add(&q, s.right, off, 1) == HETMP_DEVICE_MISALIGNED);
    CHECK(hetmp_atomic_fetch_add(&q, s.right, s.source, 1, &old) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_put_signal_op(&q, s.right, s.table, s.source, 8, s.flags, 1, 7) == HETMP_DEVICE_BAD_SIGNAL);
    CHECK(hetmp_put_built(&q, s.right, s.table, s.source, (size_t)1 << 40) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_put(&none, s.right, s.table, s.source, 8) == HETMP_DEVICE_BAD_QUEUE);
    CHECK(hetmp_quiet(&none) == HETMP_DEVICE_BAD_QUEUE && hetmp_ring(&none) == HETMP_DEVICE_BAD_QUEUE);
    CHECK(hetmp_fence(&none) == HETMP_DEVICE_BAD_QUEUE && hetmp_is_quiet(&none) == HETMP_DEVICE_BAD_QUEUE);
    /* What the adapter finds: a place beyond the region, and a descriptor that means nothing. Others take effect. */
    hetmp_device_queue lies = q;
    lies.heap_bytes = (uint64_t)1 << 50;
    CHECK(hetmp_put(&lies, s.right, (char *)s.table + ((uint64_t)1 << 45), s.source, 8) == 0);
    CHECK(hetmp_p64(&lies, s.right, s.table, 6) == 0);
    CHECK(hetmp_quiet(&lies) > 0 && hetmp_quiet(&lies) == 0);
    for (int i = 0; i < 200; i++) hetmp_device_post(&lies, 0x63, 0, 0, 0, 0, 0, 0, 0);
    CHECK(hetmp_quiet(&lies) > 0);
    CHECK(hetmp_p64(&lies, s.right, s.table + 1, 8) == 0 && hetmp_quiet(&lies) == 0);
    lies.heap_bytes = q.heap_bytes;
    s.queues[0] = lies;
}
static void refused(void) {
    gpu_launch(refused_kernel, 1, 1, g);
    gpu_wait();
    shmem_barrier_all();
    HOST_CHECK(g.table[0] == 6 && g.table[1] == 8);
}

/* ---- Whole blocks. */

__global__ void workgroup_kernel(shared s) {
    hetmp_device_queue *q = s.queues + blockIdx.x;
    uint64_t *there = s.table + blockIdx.x * 512, *here = s.source + blockIdx.x * 512, *flag = s.flags + blockIdx.x;
    for (uint64_t round = 1; round <= 5; round++) {
        for (unsigned i = threadIdx.x; i < 128; i += blockDim.x) here[i] = round * 1000 + i;
        int bad = hetmp_put_wg(q, s.right, there, here, 1024);
        bad |= hetmp_fence_wg(q);
        bad |= hetmp_atomic_add_wg(q, s.right, there + 400, 5);
        bad |= hetmp_put_signal_wg(q, s.right, there + 256, here, 1024, flag, round);
        bad |= hetmp_ring_wg(q);
        bad |= hetmp_wait_until_wg(flag, SHMEM_CMP_GE, round);
        if (HETMP_WG_LEADER()) CHECK(bad == 0);
        for (unsigned i = threadIdx.x; i < 128; i += blockDim.x) CHECK(seen(there + 256 + i) == round * 1000 + i);
        bad = hetmp_quiet_wg(q);
        bad |= hetmp_get_wg(q, s.me, here + 256, there + 256, 1024);
        bad |= hetmp_quiet_wg(q);
        if (HETMP_WG_LEADER()) CHECK(bad == 0);
        for (unsigned i = threadIdx.x; i < 128; i += blockDim.x) CHECK(seen(here + 256 + i) == round * 1000 + i);
        /* The neighbour has looked before the next round writes there. */
        if (HETMP_WG_LEADER()) CHECK(hetmp_atomic_set(q, s.left, flag + 64, round) == 0);
        hetmp_ring_wg(q);
        hetmp_wait_until_wg(flag + 64, SHMEM_CMP_GE, round);
    }
    hetmp_quiet_wg(q);
}
static void workgroups(void) {
    gpu_launch(workgroup_kernel, QUEUES, GPU_THREADS, g);
    gpu_wait();
    shmem_barrier_all();
    for (int b = 0; b < QUEUES; b++)
        HOST_CHECK(g.table[b * 512 + 127] == 5127 && g.table[b * 512 + 400] == 25);
}

/* More blocks than queues. */
__global__ void contexts_kernel(shared s) {
    if (!HETMP_WG_LEADER()) return;
    for (int i = 0; i < 10;) {
        hetmp_device_queue *q = hetmp_context_take(s.pool);
        if (!q) continue;
        for (int pe = 0; pe < s.pes; pe++) CHECK(hetmp_atomic_add(q, pe, s.table, 1) == 0);
        CHECK(hetmp_context_give(s.pool, q) == 0);
        i++;
    }
}
static void contexts(void) {
    enum { N = 2 };
    hetmp_device_queue *queues = gpu_pinned<hetmp_device_queue>(N);
    uint32_t *taken = gpu_pinned<uint32_t>(N);
    gpu_ok("hetmp_contexts_open",
           hetmp_contexts_open(SHMEM_TEAM_WORLD, 8, HETMP_DEVICE_POLLED, queues, taken, N, g.pool));
    for (int i = 0; i < N; i++) gpu_map_queue(queues + i);
    gpu_launch(contexts_kernel, QUEUES, GPU_THREADS, g);
    gpu_wait();
    gpu_ok("hetmp_contexts_close", hetmp_contexts_close(g.pool));
    shmem_barrier_all();
    HOST_CHECK(g.table[0] == 10u * QUEUES * (unsigned)g.pes);
}

__device__ inline uint64_t made(int pe, unsigned i, unsigned round) {
    return (uint64_t)(pe + 1) * 1000003u + i * 17u + round;
}
/* `wg`: by the whole block. */
__global__ void group_kernel(shared s, int wg) {
    hetmp_device_queue *q = s.queues;
    hetmp_device_group *group = s.group;
    const bool leads = HETMP_WG_LEADER();
    const unsigned words = 12;
    for (unsigned round = 1; round <= 4; round++) {
        int root = (int)round % s.pes, bad = 0;
        for (unsigned i = threadIdx.x; i < words * (unsigned)s.pes; i += blockDim.x) s.source[i] = made(s.me, i, round);
        __syncthreads();
        bad |= wg ? hetmp_group_broadcast_wg(q, group, s.table, s.source, words * 8, root)
                  : hetmp_group_broadcast(q, group, s.table, s.source, words * 8, root);
        if (leads)
            for (unsigned i = 0; i < words; i++) CHECK(seen(s.table + i) == made(root, i, round));
        bad |= wg ? hetmp_group_sync_wg(q, group) : hetmp_group_sync(q, group);
        bad |= wg ? hetmp_group_fcollect_wg(q, group, s.table, s.source, words * 8)
                  : hetmp_group_fcollect(q, group, s.table, s.source, words * 8);
        if (leads)
            for (int pe = 0; pe < s.pes; pe++)
                for (unsigned i = 0; i < words; i++)
                    CHECK(seen(s.table + (unsigned)pe * words + i) == made(pe, i, round));
        bad |= wg ? hetmp_group_barrier_wg(q, group) : hetmp_group_barrier(q, group);
        bad |= wg ? hetmp_group_alltoall_wg(q, group, s.table, s.source, words * 8)
                  : hetmp_group_alltoall(q, group, s.table, s.source, words * 8);
        if (leads)
            for (int pe = 0; pe < s.pes; pe++)
                for (unsigned i = 0; i < words; i++)
                    CHECK(seen(s.table + (unsigned)pe * words + i) == made(pe, (unsigned)s.me * words + i, round));
        double *in = (double *)(s.source + 512), *out = in + 64;
        if (leads)
            for (int i = 0; i < 40; i++) in[i] = s.me + i;
        bad |= wg ? hetmp_group_reduce_wg(q, group, out, in, 40, HETMP_TYPE_DOUBLE, HETMP_OP_SUM)
                  : hetmp_group_reduce(q, group, out, in, 40, HETMP_TYPE_DOUBLE, HETMP_OP_SUM);
        if (leads)
            for (int i = 0; i < 40; i++) CHECK(out[i] == s.pes * (s.pes - 1) / 2 + s.pes * i);
        bad |= wg ? hetmp_group_sync_wg(q, group) : hetmp_group_sync(q, group);
        if (leads) CHECK(bad == 0);
    }
    if (leads) CHECK(hetmp_quiet(q) == 0);
}
static void groups(void) {
    void *work = shmem_malloc(hetmp_group_bytes(g.pes, BLOCK));
    for (int wg = 0; wg < 2; wg++) {
        gpu_ok("hetmp_group_open", hetmp_group_open(SHMEM_TEAM_WORLD, work, hetmp_group_bytes(g.pes, BLOCK), g.group));
        gpu_launch(group_kernel, 1, wg ? GPU_THREADS : 1, g, wg);
        gpu_wait();
        shmem_barrier_all();
    }
    shmem_free(work);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"values", values},       {"gets", gets},         {"signals", signals}, {"atomics", atomics},
             {"full_queue", full_queue}, {"waits", waits},     {"refused", refused}, {"workgroups", workgroups},
             {"contexts", contexts},   {"groups", groups}};

int main(int argc, char **argv) {
    gpu_begin();
    g = shared{gpu_queues(QUEUES),
               gpu_pinned<hetmp_device_queue>(1),
               gpu_symmetric<uint64_t>(WORDS),
               gpu_symmetric<uint64_t>(WORDS),
               gpu_pinned<uint64_t>(WORDS),
               gpu_pinned<unsigned>(FAILURES),
               gpu_pinned<hetmp_device_contexts>(1),
               gpu_pinned<hetmp_device_group>(1),
               gio_me,
               gio_pes,
               (gio_me + 1) % gio_pes,
               (gio_me + gio_pes - 1) % gio_pes};
    gpu_ok("hetmp_device_queue_open",
           hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, 2, HETMP_DEVICE_POLLED, g.small));
    gpu_map_queue(g.small);
    int ran = 0;
    for (const auto &c : cases) {
        if (argc > 1 && strcmp(argv[1], c.name) != 0) continue;
        shmem_barrier_all();
        memset(g.table, 0, WORDS * 8);
        memset(g.flags, 0, WORDS * 8);
        memset(g.source, 0, WORDS * 8);
        memset(g.failed, 0, FAILURES * sizeof *g.failed);
        shmem_barrier_all();
        double began = gio_now();
        c.run();
        std::vector<double> ms(1, 1e3 * (gio_now() - began));
        for (unsigned i = 1; i <= g.failed[0] && i < FAILURES; i++)
            fprintf(stderr, "hetmp: gpu_check.cu:%u: PE %d: %s: not as expected in a kernel\n", g.failed[i], gio_me,
                    c.name);
        int right = gio_agree(g.failed[0] == 0 && !gpu_bad);
        gpu_bad |= !right;
        gpu_row("check", "gio", c.name, 0, 1, "ms", ms, right ? "right" : "wrong");
        ran++;
    }
    if (!ran) gio_die("case %s: not usable (expected a name in gpu_check.cu)", argv[1]);
    gpu_ok("hetmp_device_queue_close", hetmp_device_queue_close(g.small));
    return gpu_end();
}
