/* What OpenSHMEM 1.6 adds: block-strided puts and gets, scans, signals without data, shmem_team_ptr, shmem_pe_quiet,
 * sessions, shmem_query_initialized, initialization more than once. */
#include "shtest.h"
#include "types.h"
#include <complex.h>

enum { BLOCKS = 4, BLOCK = 3, DST = 5, SST = 4 };

#define TEST(NAME, TYPE, PUT, GET, CTX_PUT, CTX_GET)                                             \
    static TYPE static_##NAME[BLOCKS * DST];                                                     \
    static void test_##NAME(void) {                                                              \
        TYPE source[BLOCKS * SST], found[BLOCKS * SST];                                          \
        TYPE *target = static_##NAME;                                                            \
        for (int form = 0; form < 2; form++) {                                                   \
            memset(target, 0, sizeof static_##NAME);                                             \
            memset(source, 0, sizeof source);                                                    \
            memset(found, 0, sizeof found);                                                      \
            for (int i = 0; i < BLOCKS * SST; i++)                                               \
                ((unsigned char *)&source[i])[0] = (unsigned char)(me * 17 + i + 1);             \
            shmem_barrier_all();                                                                 \
            if (form) CTX_PUT(SHMEM_CTX_DEFAULT, target, source, DST, SST, BLOCK, BLOCKS, next); \
            else PUT(target, source, DST, SST, BLOCK, BLOCKS, next);                             \
            shmem_barrier_all();                                                                 \
            for (int b = 0; b < BLOCKS; b++)                                                     \
                for (int i = 0; i < DST; i++)                                                    \
                    CHECK(((unsigned char *)&target[b * DST + i])[0] ==                          \
                          (i < BLOCK ? (unsigned char)(prev * 17 + b * SST + i + 1) : 0));       \
            if (form) CTX_GET(SHMEM_CTX_DEFAULT, found, target, SST, DST, BLOCK, BLOCKS, next);  \
            else GET(found, target, SST, DST, BLOCK, BLOCKS, next);                              \
            for (int b = 0; b < BLOCKS; b++)                                                     \
                for (int i = 0; i < SST; i++)                                                    \
                    CHECK(((unsigned char *)&found[b * SST + i])[0] ==                           \
                          (i < BLOCK ? (unsigned char)(me * 17 + b * SST + i + 1) : 0));         \
            shmem_barrier_all();                                                                 \
            PUT(target, source, BLOCK, BLOCK, BLOCK, 0, next);                                   \
            GET(found, target, BLOCK, BLOCK, BLOCK, 0, next);                                    \
            shmem_barrier_all();                                                                 \
        }                                                                                        \
    }
#define TYPED(NAME, TYPE) \
    TEST(NAME, TYPE, shmem_##NAME##_ibput, shmem_##NAME##_ibget, shmem_ctx_##NAME##_ibput, shmem_ctx_##NAME##_ibget)
#define SIZED(BITS, TYPE) \
    TEST(bits_##BITS, TYPE, shmem_ibput##BITS, shmem_ibget##BITS, shmem_ctx_ibput##BITS, shmem_ctx_ibget##BITS)
RMA_TYPES(TYPED)
SIZES(SIZED)

#define SCAN(NAME, TYPE) \
    static void scan_##NAME(shmem_team_t team) { \
        enum { N = 9 }; \
        static TYPE source[N], target[N]; \
        int rank = shmem_team_my_pe(team); \
        for (int form = 0; form < 4; form++) { \
            TYPE *to = form / 2 ? source : target; \
            for (int i = 0; i < N; i++) { source[i] = (TYPE)(rank % 3 + i % 4); target[i] = 99; } \
            shmem_team_sync(team); \
            if (form % 2) CHECK(shmem_##NAME##_sum_inscan(team, to, source, N) == 0); \
            else CHECK(shmem_##NAME##_sum_exscan(team, to, source, N) == 0); \
            for (int i = 0; i < N; i++) { \
                TYPE expected = 0; \
                for (int pe = 0; pe < rank + form % 2; pe++) expected = (TYPE)(expected + (TYPE)(pe % 3 + i % 4)); \
                CHECK(to[i] == expected); \
            } \
            shmem_team_sync(team); \
        } \
    }
REDUCE_ORDERED_TYPES(SCAN)
REDUCE_COMPLEX_TYPES(SCAN)

static uint64_t sig;
static long box[300];

static void signals(void) {
    sig = 10;
    shmem_barrier_all();
    shmem_signal_add(&sig, 5, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 15) == 15);
    shmem_barrier_all();
    shmem_signal_set(&sig, 3, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 3) == 3);
    shmem_barrier_all();
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_signal_add(ctx, &sig, 4, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 7) == 7);
    shmem_barrier_all();
    shmem_ctx_signal_set(ctx, &sig, 100, next);
    CHECK(shmem_signal_wait_until(&sig, SHMEM_CMP_GT, 7) == 100);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    sig = 0;
    shmem_barrier_all();
    for (int i = 0; i < 100; i++) {
        shmem_signal_add(&sig, 1, i % npes);
    }
    shmem_barrier_all();
    CHECK(sig >= 100u / (unsigned)npes * (unsigned)npes && sig <= (100u / (unsigned)npes + 1) * (unsigned)npes);
}

static void pe_quiet(void) {
    int targets[2] = {next, me};
    long source[300];
    for (int i = 0; i < 300; i++) {
        source[i] = me * 1000 + i;
    }
    shmem_barrier_all();
    shmem_long_put_nbi(box, source, 300, next);
    shmem_pe_quiet(targets, 2);
    CHECK(shmem_long_g(&box[299], next) == me * 1000 + 299);
    shmem_pe_quiet(NULL, 0);
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    source[299]++;
    shmem_ctx_long_put_nbi(ctx, box, source, 300, next);
    shmem_ctx_pe_quiet(ctx, targets, 1);
    CHECK(shmem_long_g(&box[299], next) == me * 1000 + 300);
    /* A session is a hint: results are what they are without one. */
    shmem_ctx_session_config_t config = {.total_ops = 1000};
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    for (int i = 0; i < 300; i++) {
        shmem_ctx_long_p(ctx, &box[i], me * 5000 + i, next);
    }
    shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    for (int i = 0; i < 300; i++) {
        CHECK(box[i] == prev * 5000 + i);
    }
    shmem_barrier_all();
}

static void team_ptr(void) {
    shmem_team_t team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &team) == 0);
    int target = npes - 1 - next;
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, box, next) == shmem_ptr(box, next));
    CHECK(shmem_team_ptr(team, box, target) == shmem_ptr(box, next));
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, box, 0) == NULL);
    shmem_team_destroy(team);
}

int main(void) {
    int yes = -1;
    shmem_query_initialized(&yes);
    CHECK(yes == 0);
    test_begin();
    CHECK(SHMEM_MINOR_VERSION >= 5);
    shmem_query_initialized(&yes);
    CHECK(yes != 0);
#define CALL(NAME, TYPE) test_##NAME();
    RMA_TYPES(CALL)
#undef CALL
#define CALL(BITS, TYPE) test_bits_##BITS();
    SIZES(CALL)
#undef CALL
    shmem_team_t back;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &back) == 0);
#define CALL(NAME, TYPE) scan_##NAME(SHMEM_TEAM_WORLD); scan_##NAME(back);
    REDUCE_ORDERED_TYPES(CALL)
    REDUCE_COMPLEX_TYPES(CALL)
    shmem_team_destroy(back);
    signals();
    pe_quiet();
    team_ptr();
    /* Initialized twice, finalized twice. */
    int provided = -1;
    CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, &provided) == 0);
    shmem_init();
    shmem_finalize();
    shmem_query_initialized(&yes);
    CHECK(yes != 0 && shmem_my_pe() == me);
    shmem_finalize();
    shmem_barrier_all();
    return test_end("v16");
}
