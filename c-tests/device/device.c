/* hetmp/device.h from OpenMP threads: every function, what a full queue does, and what is refused.
 *
 *     oshrun -n PES device [CASE]
 *
 * Every PE posts to its right neighbour (itself on one PE) and to all. Output: a line a case; status 0 if all passed.
 * The case `words` (not among them) prints descriptors as they lie in the queue, for the test that reads them. */
#include <hetmp/device.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define WORDS 4096

static int me, pes, right, failures;
static uint64_t *table, *flags; /* symmetric */
static uint64_t in_data[64];    /* symmetric: static */

#define CHECK(condition)                                                             \
    do {                                                                             \
        if (!(condition)) {                                                          \
            fprintf(stderr, "device.c:%d: PE %d: %s\n", __LINE__, me, #condition);   \
            __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                      \
        }                                                                            \
    } while (0)

static void clear(void) {
    shmem_barrier_all();
    memset(table, 0, WORDS * 8);
    memset(flags, 0, WORDS * 8);
    memset(in_data, 0, sizeof in_data);
    shmem_barrier_all();
}

static hetmp_device_queue open_queue(size_t depth, unsigned flags_of) {
    hetmp_device_queue q;
    int status = hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, depth, flags_of, &q);
    if (status != 0) {
        fprintf(stderr, "device.c: open: %s\n", hetmp_device_error_text(status));
        shmem_global_exit(1);
    }
    return q;
}

static void values_arrive(void) {
    hetmp_device_queue q = open_queue(8, 0);
    uint64_t source[64];
    clear();
    for (int i = 0; i < 64; i++) source[i] = 1000u * (unsigned)me + (unsigned)i;
    CHECK(hetmp_put(&q, right, table, source, sizeof source) == 0);
    CHECK(hetmp_p64(&q, right, table + 100, 7000 + (uint64_t)me) == 0);
    CHECK(hetmp_p32(&q, right, (uint32_t *)(table + 101), 0xdeadbeef) == 0);
    CHECK(hetmp_p(&q, right, (char *)(table + 101) + 6, 0x1234, 2) == 0);
    CHECK(hetmp_p(&q, right, (char *)(table + 101) + 5, 0xab, 1) == 0);
    CHECK(hetmp_put(&q, right, in_data, source, 24) == 0);
    CHECK(hetmp_put_built(&q, right, table + 200, source, 40) == 0);
    CHECK(hetmp_put(&q, right, (char *)table + 8 * 300 + 3, (char *)source + 1, 13) == 0);
    CHECK(hetmp_quiet(&q) == 0);
    CHECK(hetmp_is_quiet(&q));
    shmem_barrier_all();
    unsigned left = (unsigned)((me + pes - 1) % pes);
    for (unsigned i = 0; i < 64; i++) {
        CHECK(table[i] == 1000 * left + i);
        source[i] = 1000 * left + i;
    }
    CHECK(table[100] == 7000 + left);
    CHECK(table[101] == 0x1234abdeadbeefull || table[101] == 0x1234ab00deadbeefull);
    CHECK(in_data[0] == 1000 * left && in_data[2] == 1000 * left + 2 && in_data[3] == 0);
    CHECK(table[204] == 1000 * left + 4 && table[205] == 0);
    CHECK(memcmp((char *)table + 8 * 300 + 3, (char *)source + 1, 13) == 0);
    CHECK(hetmp_device_queue_close(&q) == 0);
    CHECK(q.host == NULL && hetmp_device_queue_close(&q) == HETMP_DEVICE_BAD_QUEUE);
}

static void gets(void) {
    hetmp_device_queue q = open_queue(4, 0);
    uint64_t here[256] = {0};
    clear();
    for (unsigned i = 0; i < 256; i++) table[i] = 100000u * (unsigned)me + i;
    shmem_barrier_all();
    for (unsigned i = 0; i < 256; i += 16) CHECK(hetmp_get(&q, right, here + i, table + i, 16 * 8) == 0);
    CHECK(hetmp_quiet(&q) == 0);
    for (unsigned i = 0; i < 256; i++) CHECK(here[i] == 100000u * (unsigned)right + i);
    /* Puts and gets in turns: each finds the other's words in its slot. */
    for (unsigned i = 0; i < 64; i++) {
        here[i] = i;
        CHECK(hetmp_put(&q, right, table + 1024 + i, here + i, 8) == 0);
        CHECK(hetmp_get(&q, right, here + 128 + i, table + i, 8) == 0);
    }
    CHECK(hetmp_device_queue_close(&q) == 0);
    for (unsigned i = 0; i < 64; i++) CHECK(here[128 + i] == 100000u * (unsigned)right + i);
    shmem_barrier_all();
    for (unsigned i = 0; i < 64; i++) CHECK(table[1024 + i] == i);
}

static void signals(void) {
    hetmp_device_queue q = open_queue(16, 0);
    uint64_t source[512];
    clear();
    int left = (me + pes - 1) % pes;
    for (uint64_t round = 1; round <= 50; round++) {
        for (unsigned i = 0; i < 512; i++) source[i] = round * 512 + i;
        CHECK(hetmp_put_signal(&q, right, table, source, sizeof source, flags, round) == 0);
        hetmp_ring(&q);
        shmem_signal_wait_until(flags, SHMEM_CMP_GE, round);
        for (unsigned i = 0; i < 512; i++) CHECK(table[i] == round * 512 + i);
        /* Tell the left one that its data were seen: a signal without data, which adds. */
        CHECK(hetmp_put_signal_op(&q, left, table, source, 0, flags + 1, 1, SHMEM_SIGNAL_ADD) == 0);
        hetmp_ring(&q);
        shmem_signal_wait_until(flags + 1, SHMEM_CMP_GE, round);
        CHECK(hetmp_quiet(&q) == 0);
    }
    CHECK(flags[1] == 50);
    CHECK(hetmp_p64_signal(&q, right, table + 700, 77, flags + 2, 5) == 0);
    hetmp_ring(&q);
    shmem_signal_wait_until(flags + 2, SHMEM_CMP_EQ, 5);
    CHECK(table[700] == 77);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

static void atomics(void) {
    clear();
#pragma omp parallel num_threads(THREADS)
    {
        hetmp_device_queue q = open_queue(32, 0);
        for (int i = 0; i < 200; i++)
            for (int pe = 0; pe < pes; pe++) {
                CHECK(hetmp_atomic_add(&q, pe, table, 3) == 0);
                CHECK(hetmp_atomic_add32(&q, pe, (uint32_t *)(table + 1), 1) == 0);
            }
        hetmp_ring(&q);
        uint64_t old = 99, sum = 0;
        for (int i = 0; i < 50; i++) {
            CHECK(hetmp_atomic_fetch_add(&q, 0, table + 2, 1, &old) == 0);
            sum += old + 1;
        }
        CHECK(hetmp_atomic_add(&q, 0, table + 3, sum) == 0);
        CHECK(hetmp_device_queue_close(&q) == 0);
    }
    shmem_barrier_all();
    CHECK(table[0] == 3u * 200u * THREADS * (unsigned)pes);
    CHECK(table[1] == 200u * THREADS * (unsigned)pes);
    if (me == 0) {
        uint64_t n = 50u * THREADS * (unsigned)pes;
        CHECK(table[2] == n);
        CHECK(table[3] == n * (n + 1) / 2); /* every old value came back once */
    }
    shmem_barrier_all();
    hetmp_device_queue q = open_queue(2, 0);
    uint64_t old = 0;
    CHECK(hetmp_atomic_set(&q, me, table + 4, 5) == 0);
    CHECK(hetmp_fence_pe(&q, me) == 0);
    CHECK(hetmp_atomic_compare_swap(&q, me, table + 4, 4, 9, &old) == 0 && old == 5);
    CHECK(hetmp_atomic_compare_swap(&q, me, table + 4, 5, 9, &old) == 0 && old == 5);
    CHECK(hetmp_atomic_fetch(&q, me, table + 4, &old) == 0 && old == 9);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

/* A queue of two slots, thousands of operations, none rung by hand. */
static void full_queue(void) {
    hetmp_device_queue q = open_queue(2, 0);
    clear();
    uint64_t source[1000];
    for (unsigned i = 0; i < 1000; i++) {
        source[i] = i + 1;
        CHECK(hetmp_put(&q, right, table + i, source + i, 8) == 0);
        CHECK(hetmp_atomic_add(&q, right, table + 1001, 1) == 0);
    }
    CHECK(hetmp_quiet(&q) == 0);
    shmem_barrier_all();
    for (unsigned i = 0; i < 1000; i++) CHECK(table[i] == i + 1);
    CHECK(table[1001] == 1000);
    CHECK(q.mask == 1 && q.staged >= 2000);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

static void zero_bytes(void) {
    hetmp_device_queue q = open_queue(4, 0);
    clear();
    for (int i = 0; i < 100; i++) {
        CHECK(hetmp_put(&q, right, table, NULL, 0) == 0);
        CHECK(hetmp_get(&q, right, NULL, table, 0) == 0);
        CHECK(hetmp_put(&q, right, NULL, NULL, 0) == 0); /* moves nothing, so that its address does not matter */
        CHECK(hetmp_quiet(&q) == 0);
    }
    CHECK(q.staged == q.flush * 100);
    CHECK(hetmp_put_signal(&q, right, table, NULL, 0, flags, 3) == 0);
    CHECK(hetmp_quiet(&q) == 0);
    shmem_signal_wait_until(flags, SHMEM_CMP_EQ, 3);
    shmem_barrier_all();
    CHECK(table[0] == 0);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

/* Several initiators at once, each with a queue of its own. */
static void initiators(void) {
    clear();
#pragma omp parallel num_threads(THREADS)
    {
        unsigned w = (unsigned)omp_get_thread_num();
        hetmp_device_queue q = open_queue(16, 0);
        uint64_t source[100];
        for (unsigned i = 0; i < 100; i++) source[i] = w * 1000 + i;
        for (unsigned i = 0; i < 100; i++) {
            CHECK(hetmp_put(&q, right, table + w * 100 + i, source + i, 8) == 0);
            if (i % 7 == 0) hetmp_ring(&q);
        }
        CHECK(hetmp_device_queue_close(&q) == 0);
    }
    shmem_barrier_all();
    for (unsigned w = 0; w < THREADS; w++)
        for (unsigned i = 0; i < 100; i++) CHECK(table[w * 100 + i] == w * 1000 + i);
}

/* Data, fence, flag: the flag is never seen before the data. */
static void fences(void) {
    hetmp_device_queue q = open_queue(16, 0);
    clear();
    static uint64_t source[2][256];
    for (uint64_t round = 1; round <= 100; round++) {
        for (unsigned i = 0; i < 256; i++) source[round & 1][i] = round;
        CHECK(hetmp_put(&q, right, table, source[round & 1], 256 * 8) == 0);
        CHECK((round & 1 ? hetmp_fence(&q) : hetmp_fence_pe(&q, right)) == 0);
        CHECK(hetmp_p64(&q, right, flags, round) == 0);
        hetmp_ring(&q);
        shmem_uint64_wait_until(flags, SHMEM_CMP_GE, round);
        for (unsigned i = 0; i < 256; i++) CHECK(table[i] == round);
        shmem_barrier_all();
    }
    CHECK(hetmp_device_queue_close(&q) == 0);
}

static void workgroups(void) {
    hetmp_device_queue q = open_queue(16, 0);
    uint64_t source[4] = {1, 2, 3, 4}, here[4] = {0};
    clear();
    CHECK(hetmp_put_wg(&q, right, table, source, sizeof source) == 0);
    CHECK(hetmp_fence_wg(&q) == 0);
    CHECK(hetmp_atomic_add_wg(&q, right, table + 10, 5) == 0);
    CHECK(hetmp_put_signal_wg(&q, right, table + 20, source, 8, flags, 9) == 0);
    hetmp_ring_wg(&q);
    CHECK(hetmp_quiet_wg(&q) == 0);
    shmem_signal_wait_until(flags, SHMEM_CMP_EQ, 9);
    shmem_barrier_all();
    CHECK(table[3] == 4 && table[10] == 5 && table[20] == 1);
    CHECK(hetmp_get_wg(&q, right, here, table, sizeof here) == 0);
    CHECK(hetmp_quiet_wg(&q) == 0);
    CHECK(here[3] == 4);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

/* A doorbell that is only a word: nobody calls the library, as on a device. */
static void polled(void) {
    hetmp_device_queue q = open_queue(8, HETMP_DEVICE_POLLED);
    clear();
    uint64_t source[32];
    for (unsigned i = 0; i < 32; i++) {
        source[i] = i + 5;
        CHECK(hetmp_put(&q, right, table + i, source + i, 8) == 0);
        q.rung = q.staged;
        hetmp_word_release(q.posted, q.staged); /* hetmp_ring of the device pass */
        while (hetmp_word_acquire(q.done) < q.staged) sched_yield();
    }
    CHECK(hetmp_quiet(&q) == 0);
    shmem_barrier_all();
    for (unsigned i = 0; i < 32; i++) CHECK(table[i] == i + 5);
    CHECK(hetmp_device_queue_close(&q) == 0);
    /* The polling thread comes back for a later queue. */
    q = open_queue(2, HETMP_DEVICE_POLLED);
    CHECK(hetmp_atomic_add(&q, right, table + 40, 1) == 0);
    CHECK(hetmp_device_queue_close(&q) == 0);
    shmem_barrier_all();
    CHECK(table[40] == 1);
}

/* 3 MiB in one operation. */
static void large(void) {
    size_t words = 3 << 17;
    uint64_t *big = shmem_malloc(words * 8), *source = malloc(words * 8);
    hetmp_device_queue q = open_queue(4, 0);
    for (size_t i = 0; i < words; i++) source[i] = i * 3 + (unsigned)me;
    shmem_barrier_all();
    CHECK(hetmp_put(&q, right, big, source, words * 8) == 0);
    CHECK(hetmp_quiet(&q) == 0);
    shmem_barrier_all();
    unsigned left = (unsigned)((me + pes - 1) % pes);
    for (size_t i = 0; i < words; i++)
        if (big[i] != i * 3 + left) {
            CHECK(big[i] == i * 3 + left);
            break;
        }
    CHECK(hetmp_device_queue_close(&q) == 0);
    shmem_free(big);
    free(source);
}

static void teams(void) {
    shmem_team_t odd;
    clear();
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, pes > 1 ? 2 : 1, (pes + 1) / 2, NULL, 0, &odd) == 0);
    if (odd != SHMEM_TEAM_INVALID) {
        hetmp_device_queue q;
        int n = shmem_team_n_pes(odd), mine = shmem_team_my_pe(odd);
        CHECK(hetmp_device_queue_open(odd, 4, &q) == 0);
        CHECK((int)q.pes == n);
        CHECK(hetmp_p64(&q, (mine + 1) % n, table, 100 + (uint64_t)mine) == 0);
        CHECK(hetmp_p64(&q, n, table, 1) == HETMP_DEVICE_BAD_PE);
        CHECK(hetmp_device_queue_close(&q) == 0);
    }
    shmem_barrier_all();
    if (odd != SHMEM_TEAM_INVALID) {
        int n = shmem_team_n_pes(odd), mine = shmem_team_my_pe(odd);
        CHECK(table[0] == 100 + (uint64_t)((mine + n - 1) % n));
        shmem_team_destroy(odd);
    } else {
        CHECK(table[0] == 0);
    }
}

static void refused(void) {
    hetmp_device_queue q, none;
    uint64_t here = 1;
    uint64_t old;
    clear();
    memset(&none, 0, sizeof none);
    CHECK(hetmp_device_queue_open(SHMEM_TEAM_WORLD, 0, &q) == HETMP_DEVICE_BAD_DEPTH && q.host == NULL);
    CHECK(hetmp_device_queue_open(SHMEM_TEAM_WORLD, 65537, &q) == HETMP_DEVICE_BAD_DEPTH);
    CHECK(hetmp_device_queue_open_flags(SHMEM_TEAM_WORLD, 4, 8, &q) == HETMP_DEVICE_BAD_FLAG);
    CHECK(hetmp_device_queue_open(SHMEM_TEAM_INVALID, 4, &q) == HETMP_DEVICE_BAD_TEAM);
    CHECK(hetmp_device_queue_open(SHMEM_TEAM_WORLD, 4, NULL) == HETMP_DEVICE_BAD_QUEUE);
    CHECK(hetmp_device_queue_open_layout(SHMEM_TEAM_WORLD, 4, 0, &q, HETMP_DEVICE_LAYOUT + 1, sizeof q) ==
          HETMP_DEVICE_BAD_VERSION);
    CHECK(hetmp_device_queue_close(&none) == HETMP_DEVICE_BAD_QUEUE);
    q = open_queue(4, 0);
    CHECK(hetmp_put(&q, pes, table, &here, 8) == HETMP_DEVICE_BAD_PE);
    CHECK(hetmp_put(&q, -1, table, &here, 8) == HETMP_DEVICE_BAD_PE);
    CHECK(hetmp_put(&q, right, &here, &here, 8) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_put(&q, right, table, &here, (size_t)1 << 40) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_get(&q, right, &here, &here, 8) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_p64(&q, right, (uint64_t *)((char *)table + 4), 1) == HETMP_DEVICE_MISALIGNED);
    CHECK(hetmp_p(&q, right, table, 1, 3) == HETMP_DEVICE_BAD_SIZE);
    CHECK(hetmp_atomic_add(&q, right, (uint64_t *)((char *)table + 4), 1) == HETMP_DEVICE_MISALIGNED);
    CHECK(hetmp_atomic_fetch_add(&q, right, &here, 1, &old) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_put_signal(&q, right, table, &here, 8, &here, 1) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_put_signal_op(&q, right, table, &here, 8, flags, 1, 7) == HETMP_DEVICE_BAD_SIGNAL);
    CHECK(hetmp_fence_pe(&q, pes) == HETMP_DEVICE_BAD_PE);
    CHECK(q.staged == 0); /* nothing of all that was posted */
    CHECK(hetmp_quiet(&q) == 0);

    /* What the engine itself finds: a place beyond the region. The others take effect, and the next quiet is good. */
    hetmp_device_queue lies = q;
    lies.heap_bytes = (uint64_t)1 << 50;
    CHECK(hetmp_put(&lies, right, (char *)table + ((uint64_t)1 << 45), &here, 8) == 0);
    CHECK(hetmp_p64(&lies, right, table, 6) == 0);
    lies.number ^= (uint64_t)0; /* the words of the queue are its own */
    int status = hetmp_quiet(&lies);
    CHECK(status > 0);
    CHECK(strstr(hetmp_device_error_text(status), "target") != NULL);
    CHECK(hetmp_quiet(&lies) == 0);
    /* A descriptor that means nothing. */
    hetmp_device_post(&lies, 0x63, 0, 0, 0, 0, 0, 0, 0);
    status = hetmp_quiet(&lies);
    CHECK(status > 0);
    CHECK(strstr(hetmp_device_error_text(status), "read the descriptor") != NULL);
    /* More failures than the completion ring has room for. */
    for (int i = 0; i < 50; i++) hetmp_device_post(&lies, 0x63, 0, 0, 0, 0, 0, 0, 0);
    CHECK(hetmp_quiet(&lies) > 0);
    CHECK(hetmp_p64(&lies, right, table + 1, 8) == 0);
    CHECK(hetmp_device_queue_close(&lies) == 0);
    shmem_barrier_all();
    CHECK(table[0] == 6 && table[1] == 8);
    for (int i = -20; i <= 20; i++) CHECK(hetmp_device_error_text(i)[0] != 0);
    /* A text for each cause, and none for two. */
    for (int i = HETMP_DEVICE_NO_ROOM; i <= HETMP_DEVICE_OK; i++)
        for (int j = HETMP_DEVICE_NO_ROOM - 1; j < i; j++)
            CHECK(strcmp(hetmp_device_error_text(i), hetmp_device_error_text(j)) != 0);
    CHECK(strstr(hetmp_device_error_text(hetmp_wait_until(flags, 99, 1)), "SHMEM_CMP_EQ") != NULL);
}

/* Every call on a queue that was closed, or that is all zeros, is refused and does nothing. */
static void not_open(void) {
    hetmp_device_queue both[2];
    uint64_t here = 1, old = 7;
    void *base;
    size_t bytes;
    clear();
    memset(both, 0, sizeof both);
    both[1] = open_queue(8, 0);
    CHECK(hetmp_put(&both[1], right, table, &here, 8) == 0);
    CHECK(hetmp_device_queue_close(&both[1]) == 0);
    for (int i = 0; i < 2; i++) {
        hetmp_device_queue *q = &both[i], was = *q;
        hetmp_device_contexts pool = {0};
        hetmp_device_group group = {0};
        CHECK(hetmp_put(q, 0, table + 9, &here, 8) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_put(q, 0, table + 9, &here, 0) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_put_built(q, 0, table + 9, &here, 8) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_get(q, 0, &here, table, 8) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_p64(q, 0, table + 9, 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_p32(q, 0, (uint32_t *)(table + 9), 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_put_signal(q, 0, table + 9, &here, 8, flags, 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_p64_signal(q, 0, table + 9, 1, flags, 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_atomic_add(q, 0, table + 9, 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_atomic_add32(q, 0, (uint32_t *)(table + 9), 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_atomic_set(q, 0, table + 9, 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_atomic_fetch_add(q, 0, table + 9, 1, &old) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_atomic_compare_swap(q, 0, table + 9, 0, 1, &old) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_atomic_fetch(q, 0, table + 9, &old) == HETMP_DEVICE_BAD_QUEUE && old == 7);
        CHECK(hetmp_ring(q) == HETMP_DEVICE_BAD_QUEUE && hetmp_ring_wg(q) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_fence(q) == HETMP_DEVICE_BAD_QUEUE && hetmp_fence_wg(q) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_fence_pe(q, 0) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_quiet(q) == HETMP_DEVICE_BAD_QUEUE && hetmp_quiet_wg(q) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_is_quiet(q) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_put_wg(q, 0, table + 9, &here, 8) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_get_wg(q, 0, &here, table, 8) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_put_signal_wg(q, 0, table + 9, &here, 8, flags, 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_atomic_add_wg(q, 0, table + 9, 1) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_device_queue_range(q, 0, &base, &bytes) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_device_queue_close(q) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_device_queue_drop(q) == HETMP_DEVICE_BAD_QUEUE);
        CHECK(hetmp_contexts_close(&pool) == HETMP_DEVICE_BAD_QUEUE &&
              hetmp_context_give(&pool, q) == HETMP_DEVICE_BAD_QUEUE);
        for (group.pes = 0; group.pes < 2; group.pes++) {
            CHECK(hetmp_group_sync(q, &group) == HETMP_DEVICE_BAD_QUEUE &&
                  hetmp_group_barrier(q, &group) == HETMP_DEVICE_BAD_QUEUE);
            CHECK(hetmp_group_broadcast(q, &group, table, &here, 8, 0) == HETMP_DEVICE_BAD_QUEUE);
            CHECK(hetmp_group_reduce(q, &group, &here, &here, 1, HETMP_TYPE_INT64, HETMP_OP_SUM) ==
                  HETMP_DEVICE_BAD_QUEUE);
        }
        CHECK(memcmp(q, &was, sizeof was) == 0);
    }
    CHECK(hetmp_device_queue_close(NULL) == HETMP_DEVICE_BAD_QUEUE);
    shmem_barrier_all();
    CHECK(table[0] == 1 && table[9] == 0 && flags[0] == 0);
}

static void ranges(void) {
    hetmp_device_queue q = open_queue(16, 0);
    void *base;
    size_t bytes, all = 0;
    int found = 0;
    for (unsigned i = 0; hetmp_device_queue_range(&q, i, &base, &bytes) == 0; i++) {
        all += bytes;
        found |= (char *)q.slots >= (char *)base && (char *)(q.slots + 16 * 8) <= (char *)base + bytes;
    }
    CHECK(found && all >= 16 * (64 + 32));
    CHECK(hetmp_device_queue_close(&q) == 0);
}

/* Descriptors as they lie in the queue, not rung: "KIND w0 ... w7", for the test that parses them. */
static void words(void) {
    hetmp_device_queue q = open_queue(16, 0);
    if (me != 0) return;
    uint64_t *place = table + 5;
    printf("queue %llu keys %llu local %llu at %llu source %llu\n", (unsigned long long)(q.number >> 32),
           (unsigned long long)(q.keys & 0xffffffff), (unsigned long long)(q.local_key >> 32),
           (unsigned long long)hetmp_device_place(&q, place, 8), (unsigned long long)(uintptr_t)in_data);
#define SHOW(name, call)                                                                                          \
    do {                                                                                                          \
        const uint64_t *slot = q.slots + (q.staged & q.mask) * 8;                                                 \
        CHECK((call) == 0);                                                                                       \
        printf("%s", name);                                                                                       \
        for (int i = 0; i < 8; i++) printf(" %llu", (unsigned long long)slot[i]);                                 \
        printf("\n");                                                                                             \
    } while (0)
    SHOW("put", hetmp_put(&q, 0, place, in_data, 40));
    SHOW("put-built", hetmp_put_built(&q, 0, place, in_data, 40));
    SHOW("get", hetmp_get(&q, 0, in_data, place, 48));
    SHOW("p64", hetmp_p64(&q, 0, place, 77));
    SHOW("p32", hetmp_p32(&q, 0, (uint32_t *)place, 78));
    SHOW("put-signal", hetmp_put_signal(&q, 0, place, in_data, 56, place, 79));
    SHOW("signal-add", hetmp_put_signal_op(&q, 0, place, in_data, 56, place, 80, SHMEM_SIGNAL_ADD));
    SHOW("p64-signal", hetmp_p64_signal(&q, 0, place, 81, place, 82));
    SHOW("add", hetmp_atomic_add(&q, 0, place, 83));
    SHOW("add32", hetmp_atomic_add32(&q, 0, (uint32_t *)place, 84));
    SHOW("set", hetmp_atomic_set(&q, 0, place, 85));
    SHOW("compare-swap", hetmp_device_atomic(&q, 0, place, HETMP_D_COMPARE_SWAP, 8, HETMP_D_SIGNALLED | HETMP_D_FETCH,
                                             86, 87));
    SHOW("fetch", hetmp_device_atomic(&q, 0, place, HETMP_D_READ, 8, HETMP_D_SIGNALLED | HETMP_D_FETCH, 0, 0));
    SHOW("fence", hetmp_fence_pe(&q, 0));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"values_arrive", values_arrive}, {"gets", gets},
             {"signals", signals},             {"atomics", atomics},
             {"full_queue", full_queue},       {"zero_bytes", zero_bytes},
             {"initiators", initiators},       {"fences", fences},
             {"workgroups", workgroups},       {"polled", polled},
             {"large", large},                 {"teams", teams},
             {"refused", refused},             {"ranges", ranges},
             {"not_open", not_open}};

int main(int argc, char **argv) {
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    right = (me + 1) % pes;
    table = shmem_malloc(WORDS * 8);
    flags = shmem_malloc(WORDS * 8);
    if (argc > 1 && strcmp(argv[1], "words") == 0) {
        words();
        fflush(stdout);
        return failures != 0;
    }
    int ran = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0) continue;
        cases[i].run();
        shmem_barrier_all();
        if (me == 0) printf("%s\n", cases[i].name);
        ran++;
    }
    if (ran == 0) {
        fprintf(stderr, "hetmp: case %s: not usable (expected a name in c-tests/device/device.c)\n", argv[1]);
        return 2;
    }
    int failed = failures;
    shmem_finalize();
    return failed != 0;
}
