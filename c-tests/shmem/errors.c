/* Usage errors, one for each value of the first argument. PE 1 (or 0 where it is alone) makes the mistake while the
 * others are in a barrier; mistakes that need several PEs are made by all. The runner knows what has to be said.
 * shmem-test: manual */
#include "shtest.h"
#include <pthread.h>

static long box[16], syncs[SHMEM_BARRIER_SYNC_SIZE];
static uint64_t sig;
static shmem_ctx_t other_thread_s;

static void *in_thread(void *unused) {
    (void)unused;
    shmem_ctx_long_p(other_thread_s, box, 1, 0);
    return NULL;
}

static void pause_briefly(void) {
    struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
}

/* Not inlined, so that a compiler does not warn of what is wrong on purpose. */
static void __attribute__((noinline)) mistake(const char *what) {
    long local[16] = {0};
    long *volatile on_stack = local;
    long *volatile nothing = NULL;
    int outside = npes;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
#define CASE(name) else if (strcmp(what, name) == 0)
    if (0) {
    }
    CASE("put-pe") shmem_long_put(box, local, 1, outside);
    CASE("put-pe-negative") shmem_long_put(box, local, 1, -1);
    CASE("put-pe-huge") shmem_long_put(box, local, 1, 1 << 30);
    CASE("put-address") shmem_long_put(on_stack, local, 1, 0);
    CASE("put-null") shmem_putmem(nothing, local, 8, 0);
    CASE("put-malloc") shmem_int_put(malloc(64), (int *)local, 1, 0);
    CASE("put-end") shmem_putmem(box, local, (size_t)1 << 40, 0);
    CASE("put-128") shmem_put128(box, local, 1, outside);
    CASE("putmem-nbi-pe") shmem_putmem_nbi(box, local, 8, outside);
    CASE("get-pe") shmem_long_get(local, box, 1, outside);
    CASE("get-address") shmem_long_get(local, on_stack, 1, 0);
    CASE("get-nbi-address") shmem_getmem_nbi(local, on_stack, 8, 0);
    CASE("p-pe") shmem_long_p(box, 1, outside);
    CASE("p-address") shmem_double_p((double *)on_stack, 1, 0);
    CASE("g-pe") (void)shmem_long_g(box, outside);
    CASE("g-address") (void)shmem_short_g((short *)on_stack, 0);
    CASE("p-longdouble-pe") shmem_longdouble_p((long double *)box, 1, outside);
    CASE("iput-pe") shmem_int_iput((int *)box, (int *)local, 1, 1, 2, outside);
    CASE("iput-range") shmem_long_iput(box, local, (ptrdiff_t)1 << 40, 1, 4, 0);
    CASE("iget-pe") shmem_iget64(local, box, 1, 1, 2, -3);
    CASE("add-pe") shmem_long_atomic_add(box, 1, outside);
    CASE("add-address") shmem_long_atomic_add(on_stack, 1, 0);
    CASE("add-misaligned") shmem_long_atomic_add((long *)((char *)box + 1), 1, 0);
    CASE("fetch-pe") (void)shmem_int_atomic_fetch((int *)box, outside);
    CASE("swap-address") (void)shmem_double_atomic_swap((double *)on_stack, 1, 0);
    CASE("fetch-add-nbi-pe") shmem_long_atomic_fetch_add_nbi(local, box, 1, outside);
    CASE("signal-pe") shmem_putmem_signal(box, local, 8, &sig, 1, SHMEM_SIGNAL_SET, outside);
    CASE("signal-address") shmem_putmem_signal(box, local, 8, (uint64_t *)on_stack, 1, SHMEM_SIGNAL_SET, 0);
    CASE("signal-op") shmem_putmem_signal(box, local, 8, &sig, 1, 77, 0);
    CASE("wait-cmp") shmem_long_wait_until(box, 99, 1);
    CASE("wait-address") shmem_long_wait_until(on_stack, SHMEM_CMP_EQ, 0);
    CASE("lock-address") shmem_set_lock(on_stack);
    CASE("clear-free-lock") shmem_clear_lock(&box[3]);
    CASE("ctx-invalid") shmem_ctx_long_p(SHMEM_CTX_INVALID, box, 1, 0);
    CASE("ctx-destroyed") {
        shmem_ctx_create(0, &ctx);
        shmem_ctx_destroy(ctx);
        shmem_ctx_long_p(ctx, box, 1, 0);
    }
    CASE("ctx-destroy-default") shmem_ctx_destroy(SHMEM_CTX_DEFAULT);
    CASE("ctx-private") {
        pthread_t thread;
        shmem_ctx_create(SHMEM_CTX_PRIVATE, &other_thread_s);
        pthread_create(&thread, NULL, in_thread, NULL);
        pthread_join(thread, NULL);
    }
    CASE("team-destroy-world") shmem_team_destroy(SHMEM_TEAM_WORLD);
    CASE("barrier-set") shmem_barrier(0, 0, npes + 1, syncs);
    else {
        (void)team;
        printf("no such case: %s\n", what);
    }
}

/* Those in which every PE takes part. */
static int together(const char *what) {
    static long source[64], target[64], more[64];
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx;
    int odd_one_out = me == (npes > 1);
    if (0) {
    }
    CASE("root") (void)shmem_long_broadcast(SHMEM_TEAM_WORLD, target, source, 1, npes);
    CASE("root-negative") (void)shmem_broadcastmem(SHMEM_TEAM_WORLD, target, source, 8, -1);
    CASE("team-invalid") (void)shmem_long_sum_reduce(SHMEM_TEAM_INVALID, target, source, 1);
    CASE("team-destroyed") {
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes, NULL, 0, &team);
        shmem_team_sync(team);
        shmem_team_destroy(team);
        shmem_team_sync(team);
    }
    CASE("team-ctx-pe") {
        shmem_team_config_t config = {.num_contexts = 1};
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, &config, SHMEM_TEAM_NUM_CONTEXTS, &team);
        if (team != SHMEM_TEAM_INVALID) {
            shmem_team_create_ctx(team, 0, &ctx);
            shmem_ctx_long_p(ctx, box, 1, 1);
        }
    }
    CASE("reduce-address") {
        long *outside = malloc(64);
        (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, outside, source, 1);
    }
    CASE("reduce-huge") (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, source, SIZE_MAX / 4);
    CASE("reduce-overlap") (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, source + 1, source, 8);
    CASE("collect-overlap") (void)shmem_long_fcollect(SHMEM_TEAM_WORLD, source + 1, source, 4);
    CASE("reduce-counts") (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, source, odd_one_out ? 4 : 5);
    CASE("reduce-targets") (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, odd_one_out ? more : target, source, 4);
    CASE("roots") (void)shmem_long_broadcast(SHMEM_TEAM_WORLD, target, source, 4, odd_one_out ? 0 : 1);
    CASE("broadcast-unready") {
        /* PE 1 clears what the root may have written already. */
        if (odd_one_out) {
            for (int i = 0; i < 50; i++) pause_briefly();
            target[2] = 7;
        }
        (void)shmem_long_broadcast(SHMEM_TEAM_WORLD, target, source, 4, 0);
    }
    CASE("broadcast64-unready") {
        if (odd_one_out) {
            for (int i = 0; i < 50; i++) pause_briefly();
            target[3] = 7;
        }
        shmem_broadcast64(target, source, 4, 0, 0, 0, npes, syncs);
    }
    CASE("kinds") {
        if (odd_one_out) (void)shmem_long_sum_reduce(SHMEM_TEAM_WORLD, target, source, 4);
        else (void)shmem_long_max_reduce(SHMEM_TEAM_WORLD, target, source, 4);
    }
    CASE("barrier-and-reduce") {
        if (odd_one_out) shmem_barrier_all();
        else (void)shmem_long_max_reduce(SHMEM_TEAM_WORLD, target, source, 4);
    }
    CASE("malloc-sizes") shmem_malloc(odd_one_out ? 100 : 200);
    CASE("malloc-and-barrier") {
        if (odd_one_out) shmem_barrier_all();
        else shmem_malloc(100);
    }
    CASE("free-address") shmem_free(box);
    CASE("free-twice") {
        long *block = shmem_malloc(100);
        shmem_free(block);
        shmem_free(block);
    }
    CASE("free-inside") {
        char *block = shmem_malloc(100);
        shmem_free(block + 16);
    }
    CASE("after-finalize") {
        shmem_finalize();
        if (odd_one_out) shmem_long_p(box, 1, 0);
        for (;;) pause_briefly();
    }
    else return 0;
    return 1;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const char *rank = getenv("HETRUN_RANK");
    if (rank && strcmp(rank, "1") == 0) {
        if (strcmp(what, "before-init") == 0) {
            shmem_long_p(box, 1, 0);
        } else if (strcmp(what, "my-pe-before-init") == 0) {
            printf("%d\n", shmem_my_pe());
        }
    }
    test_begin();
    shmem_barrier_all();
    if (strcmp(what, "none") == 0) {
        CHECK(box[0] == 0 && sig == 0);
        return test_end("errors");
    }
    if (!together(what)) {
        if (me == (npes > 1)) {
            mistake(what);
        }
    }
    shmem_barrier_all();
    printf("not noticed\n");
    fflush(stdout);
    return 0;
}
