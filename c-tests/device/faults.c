/* What goes wrong in queues that devices fill, as it went wrong elsewhere (NCCL's issues 2383 and 2119).
 *
 *     oshrun -n PES faults error|full
 *
 * error  an operation completes in error among others that do not: whoever waits comes back with its status, once;
 *        all others took effect; no signal comes for data that did not; the queue goes on.
 * full   every thread of every PE posts many times more than its queue holds, none of it rung, to PEs whose queues are
 *        full, too: nothing is lost, nobody waits for ever.
 *
 * Status 0: right. The third one, a signal that passes its data (issue 2210), is c-tests/shmem/mistakes.c. */
#include <hetmp/device.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 3, ROUNDS = 10, POSTS = 64 };
static uint64_t table[POSTS], flags[8], arrived[THREADS * 64];
static int me, pes, right, failures;

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "faults.c:%d: PE %d: %s\n", __LINE__, me, #condition); \
            __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                    \
        }                                                                          \
    } while (0)

static hetmp_device_queue open_queue(size_t depth) {
    hetmp_device_queue q;
    int status = hetmp_device_queue_open(SHMEM_TEAM_WORLD, depth, &q);
    if (status != 0) {
        fprintf(stderr, "hetmp: hetmp_device_queue_open: %s\n", hetmp_device_error_text(status));
        shmem_global_exit(1);
    }
    return q;
}

static void error(void) {
    hetmp_device_queue q = open_queue(8);
    const uint64_t data_bytes = q.data_bytes;
    char *beyond = (char *)(uintptr_t)q.data + ((uint64_t)1 << 44);
    uint64_t source[POSTS], old = 0;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < POSTS; i++) source[i] = round * POSTS + (uint64_t)i;
        int at = (int)(round * 7) % POSTS, status;
        for (int i = 0; i < POSTS; i++) {
            CHECK(hetmp_put(&q, right, table + i, source + i, 8) == 0);
            if (i != at) continue;
            q.data_bytes = (uint64_t)1 << 50; /* the header lets it pass: the engine finds it */
            CHECK(hetmp_put_signal(&q, right, beyond, source, 8, flags, round) == 0);
            if (round % 2 == 0) CHECK(hetmp_atomic_add(&q, right, (uint64_t *)beyond, 1) == 0);
            q.data_bytes = data_bytes;
        }
        status = hetmp_quiet(&q);
        CHECK(status > 0 && strstr(hetmp_device_error_text(status), "target") != NULL);
        CHECK(hetmp_quiet(&q) == 0);
        CHECK(hetmp_is_quiet(&q) == 1);
        shmem_barrier_all();
        for (int i = 0; i < POSTS; i++) CHECK(table[i] == round * POSTS + (uint64_t)i);
        CHECK(flags[0] == 0);
        shmem_barrier_all();
        /* Who waits for an old value gets the status instead. */
        q.data_bytes = (uint64_t)1 << 50;
        CHECK(hetmp_atomic_fetch_add(&q, right, (uint64_t *)beyond, 1, &old) > 0);
        q.data_bytes = data_bytes;
        CHECK(hetmp_atomic_fetch_add(&q, right, flags + 1, 1, &old) == 0 && old == round - 1);
    }
    CHECK(hetmp_put_signal(&q, right, table, source, 8, flags + 2, 1) == 0);
    CHECK(hetmp_ring(&q) == 0 && hetmp_wait_until(flags + 2, SHMEM_CMP_EQ, 1) == 0);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

static void full(void) {
#pragma omp parallel num_threads(THREADS)
    {
        int w = omp_get_thread_num();
        hetmp_device_queue q = open_queue(w == 0 ? 2 : 8);
        uint64_t source[4] = {1, 2, 3, 4};
        for (int i = 0; i < POSTS; i++)
            for (int pe = 0; pe < pes; pe++)
                CHECK(hetmp_put_signal_op(&q, pe, table + 4 * w, source, sizeof source, arrived + w * 64 + me, 1,
                                          SHMEM_SIGNAL_ADD) == 0);
        /* The last posts are in the queue still. */
        CHECK(hetmp_ring(&q) == 0);
        for (int pe = 0; pe < pes; pe++)
            CHECK(hetmp_wait_until(arrived + w * 64 + pe, SHMEM_CMP_GE, POSTS) == 0);
        CHECK(hetmp_device_queue_close(&q) == 0);
    }
    shmem_barrier_all();
    for (int w = 0; w < THREADS; w++)
        for (int pe = 0; pe < pes; pe++) CHECK(arrived[w * 64 + pe] == POSTS);
    for (int i = 0; i < 4 * THREADS; i++) CHECK(table[i] == (uint64_t)i % 4 + 1);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int provided, known = strcmp(what, "error") == 0 || strcmp(what, "full") == 0;
    if (!known) {
        fprintf(stderr, "hetmp: case %s: not usable (expected error or full)\n", what);
        return 2;
    }
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    right = (me + 1) % pes;
    shmem_barrier_all();
    if (what[0] == 'e') error();
    else full();
    shmem_barrier_all();
    int failed = failures;
    shmem_finalize();
    return failed != 0;
}
