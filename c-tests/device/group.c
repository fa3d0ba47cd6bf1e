/* What kernels use besides posting: waits (hetmp/device_wait.h), lent queues (hetmp/device_contexts.h), barriers and
 * collectives of a team (hetmp/device_group.h), from OpenMP threads.
 *
 *     oshrun -n PES group [CASE]
 *
 * Output: a line a case; status 0 if all passed. Collectives are compared with values that each PE computes by itself.
 */
#include <hetmp/device.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define WORDS 8192
#define BLOCK 96 /* of a reduction: 12 words under way, so that longer ones take turns */

static int me, pes, right, failures;
static uint64_t *table, *flags; /* symmetric */
static char *work[THREADS];     /* symmetric */

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "group.c:%d: PE %d: %s\n", __LINE__, me, #condition);   \
            __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);                     \
        }                                                                           \
    } while (0)

static void clear(void) {
    shmem_barrier_all();
    memset(table, 0, WORDS * 8);
    memset(flags, 0, WORDS * 8);
    shmem_barrier_all();
}

static hetmp_device_queue open_queue(shmem_team_t team, size_t depth) {
    hetmp_device_queue q;
    int status = hetmp_device_queue_open(team, depth, &q);
    if (status != 0) {
        fprintf(stderr, "group.c: open: %s\n", hetmp_device_error_text(status));
        shmem_global_exit(1);
    }
    return q;
}

static hetmp_device_group open_group(shmem_team_t team, int w) {
    hetmp_device_group g;
    int status = hetmp_group_open(team, work[w], hetmp_group_bytes(pes, BLOCK), &g);
    if (status != 0) {
        fprintf(stderr, "group.c: group: %s\n", hetmp_device_error_text(status));
        shmem_global_exit(1);
    }
    return g;
}

static void waits(void) {
    hetmp_device_queue q = open_queue(SHMEM_TEAM_WORLD, 8);
    clear();
    /* Each comparison, against a value that a peer writes. */
    static const struct {
        int cmp;
        uint64_t value;
    } steps[] = {{SHMEM_CMP_EQ, 7}, {SHMEM_CMP_NE, 0}, {SHMEM_CMP_GT, 6}, {SHMEM_CMP_GE, 7},
                 {SHMEM_CMP_LT, ~(uint64_t)0}, {SHMEM_CMP_LE, 7}};
    for (unsigned i = 0; i < 6; i++) {
        if (steps[i].cmp >= SHMEM_CMP_LT) flags[i] = ~(uint64_t)0;
    }
    shmem_barrier_all();
    for (unsigned i = 0; i < 6; i++) {
        CHECK(hetmp_p64(&q, right, flags + i, 7) == 0);
        hetmp_ring(&q);
        CHECK(hetmp_wait_until(flags + i, steps[i].cmp, steps[i].value) == 0);
        CHECK(flags[i] == 7);
    }
    /* Unsigned: all ones is the largest. */
    CHECK(hetmp_p64(&q, right, flags + 8, ~(uint64_t)0) == 0);
    CHECK(hetmp_p32(&q, right, (uint32_t *)(flags + 9), 0x80000000u) == 0);
    hetmp_ring(&q);
    CHECK(hetmp_wait_until(flags + 8, SHMEM_CMP_GT, 5) == 0);
    CHECK(hetmp_wait_until32((uint32_t *)(flags + 9), SHMEM_CMP_GE, 0x7fffffffu) == 0);
    CHECK(hetmp_quiet(&q) == 0);
    CHECK(hetmp_test(flags + 8, SHMEM_CMP_NE, 0) == 1 && hetmp_test(flags + 10, SHMEM_CMP_NE, 0) == 0);
    CHECK(hetmp_test32((uint32_t *)(flags + 9), SHMEM_CMP_EQ, 0x80000000u) == 1);
    CHECK(hetmp_test32((uint32_t *)(flags + 10), SHMEM_CMP_GT, 0) == 0);
    for (int bad = -1; bad <= 6; bad += 7) {
        CHECK(hetmp_wait_until(flags, bad, 0) == HETMP_DEVICE_BAD_COMPARISON);
        CHECK(hetmp_wait_until32((uint32_t *)flags, bad, 0) == HETMP_DEVICE_BAD_COMPARISON);
        CHECK(hetmp_test(flags, bad, 0) == HETMP_DEVICE_BAD_COMPARISON);
        CHECK(hetmp_test32((uint32_t *)flags, bad, 0) == HETMP_DEVICE_BAD_COMPARISON);
        CHECK(hetmp_wait_until_all(flags, 3, NULL, bad, 0) == HETMP_DEVICE_BAD_COMPARISON);
        CHECK(hetmp_test_all(flags, 3, NULL, bad, 0) == HETMP_DEVICE_BAD_COMPARISON);
        CHECK(hetmp_wait_until_any(flags, 3, NULL, bad, 0) == HETMP_DEVICE_NONE);
        CHECK(hetmp_test_any(flags, 3, NULL, bad, 0) == HETMP_DEVICE_NONE);
    }
    CHECK(hetmp_device_queue_close(&q) == 0);
}

static void several_words(void) {
    hetmp_device_queue q = open_queue(SHMEM_TEAM_WORLD, 8);
    int status[16] = {0};
    clear();
    CHECK(hetmp_test_all(flags, 16, NULL, SHMEM_CMP_GE, 1) == 0);
    CHECK(hetmp_test_any(flags, 16, NULL, SHMEM_CMP_GE, 1) == HETMP_DEVICE_NONE);
    CHECK(hetmp_test_all(flags, 0, NULL, SHMEM_CMP_GE, 1) == 1);
    CHECK(hetmp_wait_until_any(flags, 0, NULL, SHMEM_CMP_GE, 1) == HETMP_DEVICE_NONE);
    shmem_barrier_all();
    for (unsigned i = 0; i < 16; i += 2) CHECK(hetmp_p64(&q, right, flags + i, 1 + i) == 0);
    hetmp_ring(&q);
    unsigned seen = 0;
    for (int n = 0; n < 8; n++) {
        size_t i = hetmp_wait_until_any(flags, 16, status, SHMEM_CMP_GE, 1);
        CHECK(i < 16 && i % 2 == 0 && status[i] == 0);
        if (i >= 16) break;
        status[i] = 1;
        seen |= 1u << i;
    }
    CHECK(seen == 0x5555);
    for (unsigned i = 0; i < 16; i++) status[i] = i % 2;
    CHECK(hetmp_wait_until_all(flags, 16, status, SHMEM_CMP_GE, 1) == 0);
    CHECK(hetmp_test_all(flags, 16, status, SHMEM_CMP_GE, 1) == 1);
    CHECK(hetmp_test_all(flags, 16, NULL, SHMEM_CMP_GE, 1) == 0);
    CHECK(hetmp_test_any(flags, 16, status, SHMEM_CMP_EQ, 15) == 14);
    for (unsigned i = 0; i < 16; i++) status[i] = 1;
    CHECK(hetmp_wait_until_any(flags, 16, status, SHMEM_CMP_GE, 1) == HETMP_DEVICE_NONE);
    CHECK(hetmp_wait_until_all(flags, 16, status, SHMEM_CMP_GE, 99) == 0);
    CHECK(hetmp_quiet(&q) == 0);
    CHECK(hetmp_wait_until_wg(flags, SHMEM_CMP_GE, 1) == 0);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

/* More threads than queues: whoever gets none tries again. No queue is ever in two hands. */
static void contexts(void) {
    enum { QUEUES = 2, ROUNDS = 50 };
    hetmp_device_queue queues[QUEUES];
    uint32_t taken[QUEUES];
    hetmp_device_contexts pool;
    clear();
    CHECK(hetmp_contexts_open(SHMEM_TEAM_WORLD, 4, 0, queues, taken, QUEUES, &pool) == 0);
    CHECK(hetmp_contexts_open(SHMEM_TEAM_WORLD, 4, 0, NULL, taken, QUEUES, &(hetmp_device_contexts){0}) ==
          HETMP_DEVICE_BAD_VALUE);
    CHECK(hetmp_contexts_open(SHMEM_TEAM_WORLD, 4, 0, queues, taken, QUEUES, NULL) == HETMP_DEVICE_BAD_QUEUE);
    hetmp_device_queue others[QUEUES];
    uint32_t marks[QUEUES];
    hetmp_device_contexts none;
    CHECK(hetmp_contexts_open(SHMEM_TEAM_WORLD, 0, 0, others, marks, QUEUES, &none) == HETMP_DEVICE_BAD_DEPTH &&
          none.n == 0);
    int users[QUEUES] = {0};
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < ROUNDS;) {
        hetmp_device_queue *q = hetmp_context_take(&pool);
        if (!q) continue;
        int which = (int)(q - queues);
        CHECK(__atomic_add_fetch(&users[which], 1, __ATOMIC_ACQ_REL) == 1);
        for (int pe = 0; pe < pes; pe++) CHECK(hetmp_atomic_add(q, pe, table, 1) == 0);
        __atomic_sub_fetch(&users[which], 1, __ATOMIC_ACQ_REL);
        CHECK(hetmp_context_give(&pool, q) == 0);
        i++;
    }
    CHECK(hetmp_context_give(&pool, queues) == HETMP_DEVICE_BAD_QUEUE); /* not taken */
    CHECK(hetmp_context_give(&pool, others) == HETMP_DEVICE_BAD_QUEUE);
    hetmp_device_queue *a = hetmp_context_take(&pool), *b = hetmp_context_take(&pool);
    CHECK(a && b && a != b && !hetmp_context_take(&pool));
    CHECK(hetmp_p64(a, right, table + 1, 5) == 0);
    CHECK(hetmp_context_give(&pool, a) == 0 && hetmp_is_quiet(a));
    CHECK(hetmp_context_give(&pool, b) == 0);
    CHECK(hetmp_contexts_close(&pool) == 0 && pool.n == 0 && !hetmp_context_take(&pool));
    shmem_barrier_all();
    CHECK(table[0] == (uint64_t)THREADS * ROUNDS * (uint64_t)pes);
    CHECK(table[1] == 5);
}

/* What everybody wrote before a barrier is there after it. Several groups at once, one for each thread. */
static void barriers(void) {
    enum { ROUNDS = 60 };
    hetmp_device_group groups[THREADS];
    clear();
    for (int w = 0; w < THREADS; w++) groups[w] = open_group(SHMEM_TEAM_WORLD, w);
#pragma omp parallel num_threads(THREADS)
    {
        int w = omp_get_thread_num();
        hetmp_device_queue q = open_queue(SHMEM_TEAM_WORLD, 4);
        uint64_t *mine = table + w * pes;
        for (uint64_t round = 1; round <= ROUNDS; round++) {
            for (int pe = 0; pe < pes; pe++) CHECK(hetmp_p64(&q, pe, mine + me, round) == 0);
            CHECK((round & 1 ? hetmp_group_barrier(&q, &groups[w]) : hetmp_group_barrier_wg(&q, &groups[w])) == 0);
            for (int pe = 0; pe < pes; pe++) CHECK(__atomic_load_n(mine + pe, __ATOMIC_RELAXED) == round);
            CHECK((round % 3 ? hetmp_group_sync(&q, &groups[w]) : hetmp_group_sync_wg(&q, &groups[w])) == 0);
        }
        CHECK(groups[w].turns == 2 * ROUNDS);
        CHECK(hetmp_device_queue_close(&q) == 0);
    }
}

static uint64_t value(int pe, unsigned i, unsigned round) { return (uint64_t)(pe + 1) * 1000003u + i * 17u + round; }

static void moves(shmem_team_t team) {
    enum { ROUNDS = 12 };
    hetmp_device_group g = open_group(team, 0);
    hetmp_device_queue q = open_queue(team, 4);
    int n = (int)g.pes, mine = (int)g.me;
    uint64_t source[64 * 4];
    for (unsigned round = 1; round <= ROUNDS; round++) {
        unsigned words = round % 4 == 0 ? 0 : round * 5;
        if (words > 64) words = 64;
        /* The same arrays in every round: a collective ends only when all have their data. */
        int root = (int)round % n;
        for (unsigned i = 0; i < words; i++) source[i] = value(mine, i, round);
        CHECK((round & 1 ? hetmp_group_broadcast(&q, &g, table, source, words * 8, root)
                         : hetmp_group_broadcast_wg(&q, &g, table, source, words * 8, root)) == 0);
        for (unsigned i = 0; i < words; i++) CHECK(table[i] == value(root, i, round));
        CHECK(hetmp_group_sync(&q, &g) == 0); /* all have looked: the next collective writes there */

        CHECK((round & 1 ? hetmp_group_fcollect(&q, &g, table, source, words * 8)
                         : hetmp_group_fcollect_wg(&q, &g, table, source, words * 8)) == 0);
        for (int pe = 0; pe < n; pe++)
            for (unsigned i = 0; i < words; i++) CHECK(table[(unsigned)pe * words + i] == value(pe, i, round));
        CHECK(hetmp_group_sync(&q, &g) == 0);

        uint64_t *out = malloc((size_t)n * words * 8 + 8);
        for (int pe = 0; pe < n; pe++)
            for (unsigned i = 0; i < words; i++)
                out[(unsigned)pe * words + i] = value(mine, i + 1000u * (unsigned)pe, round);
        CHECK((round & 1 ? hetmp_group_alltoall(&q, &g, table, out, words * 8)
                         : hetmp_group_alltoall_wg(&q, &g, table, out, words * 8)) == 0);
        for (int pe = 0; pe < n; pe++)
            for (unsigned i = 0; i < words; i++)
                CHECK(table[(unsigned)pe * words + i] == value(pe, i + 1000u * (unsigned)mine, round));
        memset(out, 0xee, (size_t)n * words * 8); /* the source may be changed */
        free(out);
        CHECK(hetmp_group_sync(&q, &g) == 0);
    }
    CHECK(hetmp_device_queue_close(&q) == 0);
}

static void collectives(void) {
    clear();
    moves(SHMEM_TEAM_WORLD);
}

static void collectives_of_a_team(void) {
    shmem_team_t odd;
    clear();
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, pes > 1 ? 2 : 1, (pes + 1) / 2, NULL, 0, &odd) == 0);
    if (odd != SHMEM_TEAM_INVALID) {
        moves(odd);
        shmem_team_destroy(odd);
    }
    shmem_barrier_all();
}

/* Every type and operation, in lengths that take one turn, several, and none. */
#define REDUCES(type, code, ops, make)                                                                    \
    for (int op = 0; op < (ops); op++)                                                                    \
        for (unsigned c = 0; c < 4; c++) {                                                                \
            unsigned count = counts[c];                                                                   \
            type in[40], out[40], want[40];                                                               \
            for (unsigned i = 0; i < count; i++) {                                                        \
                for (int pe = 0; pe < pes; pe++) {                                                        \
                    type v = (type)(make);                                                                \
                    if (pe == me) in[i] = v;                                                              \
                    if (pe == 0) want[i] = v;                                                             \
                    else FOLD_##code(want[i], v);                                                         \
                }                                                                                         \
            }                                                                                             \
            memcpy(out, in, sizeof out);                                                                  \
            CHECK(hetmp_group_reduce(&q, &g, out, c == 2 ? out : in, count, HETMP_TYPE_##code, op) == 0); \
            CHECK(memcmp(out, want, count * sizeof *out) == 0);                                           \
        }
#define FOLD_REAL(a, v) (a = op == 0 ? a + v : op == 1 ? a * v : op == 2 ? (v < a ? v : a) : (v > a ? v : a))
#define FOLD_WHOLE(type, a, v)                                                                                       \
    (a = op == 0 ? (type)(a + v) : op == 1 ? (type)(a * v) : op == 2 ? (v < a ? v : a) : op == 3 ? (v > a ? v : a) : \
         op == 4 ? (type)(a & v) : op == 5 ? (type)(a | v) : (type)(a ^ v))
#define FOLD_INT32(a, v) FOLD_WHOLE(int32_t, a, v)
#define FOLD_UINT32(a, v) FOLD_WHOLE(uint32_t, a, v)
#define FOLD_INT64(a, v) FOLD_WHOLE(int64_t, a, v)
#define FOLD_UINT64(a, v) FOLD_WHOLE(uint64_t, a, v)
#define FOLD_FLOAT(a, v) FOLD_REAL(a, v)
#define FOLD_DOUBLE(a, v) FOLD_REAL(a, v)

static void reductions(void) {
    static const unsigned counts[4] = {1, 12, 40, 0};
    hetmp_device_group g = open_group(SHMEM_TEAM_WORLD, 0);
    hetmp_device_queue q = open_queue(SHMEM_TEAM_WORLD, 8);
    clear();
    /* Signed products stay small: an overflow would be this program's mistake. */
    REDUCES(int32_t, INT32, 7, (int)(i % 5) - 2 + (pe % 2))
    REDUCES(uint32_t, UINT32, 7, 0x9e3779b9u * (i + 1) + (unsigned)pe)
    REDUCES(int64_t, INT64, 7, (int)(i % 7) - 3 + (pe % 3))
    REDUCES(uint64_t, UINT64, 7, 0x9e3779b97f4a7c15ull * (i + 1) + (unsigned)pe)
    REDUCES(float, FLOAT, 4, 0.1f * (float)(i + 1) - (float)pe)
    REDUCES(double, DOUBLE, 4, 0.1 * (i + 1) - 0.3 * pe)
    double one = me, sum = 0;
    CHECK(hetmp_group_reduce_wg(&q, &g, &sum, &one, 1, HETMP_TYPE_DOUBLE, HETMP_OP_SUM) == 0);
    CHECK(sum == pes * (pes - 1) / 2);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

/* Every PE passes the same wrong arguments, so that nobody waits. */
static void refused(void) {
    hetmp_device_group g, none;
    hetmp_device_queue q = open_queue(SHMEM_TEAM_WORLD, 8), alone;
    uint64_t here[2] = {0};
    size_t bytes = hetmp_group_bytes(pes, BLOCK);
    clear();
    CHECK(hetmp_group_open(SHMEM_TEAM_INVALID, work[0], bytes, &g) == HETMP_DEVICE_BAD_TEAM && g.pes == 0);
    CHECK(hetmp_group_open(SHMEM_TEAM_WORLD, work[0] + 4, bytes, &g) == HETMP_DEVICE_MISALIGNED);
    CHECK(hetmp_group_open(SHMEM_TEAM_WORLD, work[0], 8, &g) == HETMP_DEVICE_NO_ROOM);
    CHECK(hetmp_group_open(SHMEM_TEAM_WORLD, NULL, bytes, &g) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_group_open(SHMEM_TEAM_WORLD, malloc(bytes), bytes, &g) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_group_open(SHMEM_TEAM_WORLD, work[0], bytes, NULL) == HETMP_DEVICE_BAD_VALUE);
    CHECK(hetmp_group_open(SHMEM_TEAM_WORLD, work[0], hetmp_group_bytes(pes, 0), &none) == 0);
    CHECK(hetmp_group_reduce(&q, &none, here, here, 1, HETMP_TYPE_INT64, HETMP_OP_SUM) == HETMP_DEVICE_NO_ROOM);
    CHECK(hetmp_group_sync(&q, &none) == 0); /* all others work without room */
    g = open_group(SHMEM_TEAM_WORLD, 0);
    CHECK(hetmp_group_broadcast(&q, &g, here, table, 8, 0) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_group_broadcast(&q, &g, table, here, 8, pes) == HETMP_DEVICE_BAD_PE);
    CHECK(hetmp_group_broadcast(&q, &g, table, here, 8, -1) == HETMP_DEVICE_BAD_PE);
    CHECK(hetmp_group_fcollect(&q, &g, here, table, 8) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_group_fcollect(&q, &g, table, here, (size_t)1 << 40) == HETMP_DEVICE_TOO_LONG);
    CHECK(hetmp_group_alltoall(&q, &g, here, table, 8) == HETMP_DEVICE_BAD_ADDRESS);
    CHECK(hetmp_group_reduce(&q, &g, here, here, 1, 6, HETMP_OP_SUM) == HETMP_DEVICE_BAD_TYPE);
    CHECK(hetmp_group_reduce(&q, &g, here, here, 1, -1, HETMP_OP_SUM) == HETMP_DEVICE_BAD_TYPE);
    CHECK(hetmp_group_reduce(&q, &g, here, here, 1, HETMP_TYPE_INT64, 7) == HETMP_DEVICE_BAD_OPERATION);
    CHECK(hetmp_group_reduce(&q, &g, here, here, 1, HETMP_TYPE_DOUBLE, HETMP_OP_XOR) == HETMP_DEVICE_BAD_OPERATION);
    if (pes > 1) {
        CHECK(hetmp_device_queue_open(SHMEM_TEAM_SHARED, 4, &alone) == 0);
        alone.pes = 1; /* as a queue of another team has it */
        CHECK(hetmp_group_sync(&alone, &g) == HETMP_DEVICE_OTHER_TEAM);
        CHECK(hetmp_group_barrier(&alone, &g) == HETMP_DEVICE_OTHER_TEAM);
        CHECK(hetmp_group_fcollect(&alone, &g, table, here, 8) == HETMP_DEVICE_OTHER_TEAM);
        CHECK(hetmp_group_reduce(&alone, &g, here, here, 1, HETMP_TYPE_INT64, HETMP_OP_SUM) == HETMP_DEVICE_OTHER_TEAM);
        CHECK(hetmp_device_queue_close(&alone) == 0);
    }
    CHECK(hetmp_group_barrier(&q, &g) == 0);
    CHECK(hetmp_device_queue_close(&q) == 0);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"waits", waits},
             {"several_words", several_words},
             {"contexts", contexts},
             {"barriers", barriers},
             {"collectives", collectives},
             {"collectives_of_a_team", collectives_of_a_team},
             {"reductions", reductions},
             {"refused", refused}};

int main(int argc, char **argv) {
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    pes = shmem_n_pes();
    right = (me + 1) % pes;
    table = shmem_malloc(WORDS * 8);
    flags = shmem_malloc(WORDS * 8);
    for (int w = 0; w < THREADS; w++) work[w] = shmem_malloc(hetmp_group_bytes(pes, BLOCK));
    int ran = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0) continue;
        cases[i].run();
        shmem_barrier_all();
        if (me == 0) printf("%s\n", cases[i].name);
        ran++;
    }
    if (ran == 0) {
        fprintf(stderr, "hetmp: case %s: not usable (expected a name in c-tests/device/group.c)\n", argv[1]);
        return 2;
    }
    int failed = failures;
    shmem_finalize();
    return failed != 0;
}
