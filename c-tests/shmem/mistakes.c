/* Programs for a device's memory, one for each value of the first argument. Two PEs exchange blocks, each with a flag
 * behind it. HETMP_NIC_MODEL=gpu,check has to name the mistake of the wrong ones by the lines that are marked, and to
 * say nothing about the right ones: right, flushed, acked, unread, flags, polled, page, two-quiet.
 * shmem-test: manual */
#include "shtest.h"
#include <hetmp/device.h>

enum { N = 512, STEPS = 60 };
static uint64_t in[N] __attribute__((aligned(4096))), neighbour[N], flag, other, ack, wrong;

static int is(const char *what, const char *name) { return strcmp(what, name) == 0; }

static void look(const uint64_t *block, uint64_t value) {
    for (int i = 0; i < N; i++) {
        if (*(const volatile uint64_t *)&block[i] != value) wrong++; /* LATE */
    }
}

static void look_early(const uint64_t *block) {
    for (int i = 0; i < N; i++) (void)*(const volatile uint64_t *)&block[i]; /* EARLY */
}

static void fill(uint64_t *block, uint64_t value) {
    for (int i = 0; i < N; i++) block[i] = value;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "right";
    test_begin();
    int cached = is(what, "unflushed") || is(what, "unflushed-host") || is(what, "no-begin") || is(what, "flushed");
    int host = is(what, "reused-host") || is(what, "unflushed-host");
    int two = is(what, "two-queues") || is(what, "two-quiet"); /* data in one queue, their flag in another */
    int quiet = !is(what, "no-quiet") && !is(what, "reused") && !is(what, "acked");
    uint64_t copy[N], *block = cached ? hetmp_device_malloc_cached(N * 8) : shmem_malloc(N * 8);
    hetmp_device_queue q, second;
    if (!block || hetmp_device_queue_open(SHMEM_TEAM_WORLD, 16, &q) != 0 ||
        hetmp_device_queue_open(SHMEM_TEAM_WORLD, 16, &second) != 0)
        shmem_global_exit(1);
    shmem_barrier_all();
    if (!is(what, "no-begin")) hetmp_device_kernel_begin();
    for (uint64_t s = 1; s <= STEPS; s++) {
        fill(block, s);
        if (is(what, "flushed")) hetmp_device_flush(block, N * 8);
        if (is(what, "unread")) hetmp_p64(&q, next, &neighbour[0], s); /* nothing orders it before the flag */
        if (host) shmem_putmem_nbi(in, block, N * 8, next); /* HOST */
        else hetmp_put(&q, next, in, block, N * 8); /* PUT */
        if (host) shmem_fence();
        else if (!is(what, "no-fence")) hetmp_fence(&q);
        if (is(what, "flags")) hetmp_p64(&q, next, &other, s);
        if (is(what, "two-quiet")) hetmp_quiet(&q);
        if (two) {
            hetmp_ring(&q);
            hetmp_put_signal(&second, next, NULL, NULL, 0, &flag, s);
            hetmp_ring(&second);
        } else if (host) shmem_uint64_p(&flag, s, next);
        else hetmp_p64(&q, next, &flag, s); /* FLAG */
        hetmp_ring(&q);
        if (is(what, "reused") || is(what, "reused-host")) fill(block, 0);
        if (is(what, "early")) look_early(in);
        if (is(what, "early-copy")) memcpy(copy, in, sizeof in); /* COPY */
        if (is(what, "early-copy") && copy[s] > STEPS) wrong++;
        if (is(what, "page")) look_early(neighbour); /* not what is on its way */
        if (is(what, "polled")) {
            while (*(volatile uint64_t *)&flag < s) {
            }
        }
        hetmp_wait_until(&flag, SHMEM_CMP_GE, s);
        if (!cached && !is(what, "no-quiet")) look(in, s);
        if (is(what, "flags")) hetmp_wait_until(&other, SHMEM_CMP_GE, s);
        if (quiet) hetmp_quiet(&q);
        if (host && quiet) shmem_quiet();
        hetmp_p64(&q, prev, &ack, s);
        hetmp_ring(&q);
        if (!is(what, "no-quiet")) hetmp_wait_until(&ack, SHMEM_CMP_GE, s);
    }
    hetmp_quiet(&q);
    shmem_barrier_all();
    if (is(what, "unread") && neighbour[0] != STEPS) wrong++;
    hetmp_device_kernel_end();
    hetmp_device_queue_close(&q);
    hetmp_device_queue_close(&second);
    shmem_finalize();
    return wrong != 0 && !is(what, "no-quiet") && !is(what, "early-copy");
}
