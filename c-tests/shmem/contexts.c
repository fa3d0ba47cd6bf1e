/* Communication contexts: "Communication Management". Created with every set of options, many at once, used with every
 * kind of operation, ordered and completed one by one, destroyed, invalid. */
#include "shtest.h"

static long data[8], flag, counter;
static uint64_t word;

static void use(shmem_ctx_t ctx, int round) {
    long source[8], found[8];
    for (int i = 0; i < 8; i++) {
        source[i] = me * 100 + i + round;
        data[i] = -1;
    }
    flag = 0;
    counter = 0;
    word = 0xf0;
    shmem_barrier_all();
    shmem_ctx_long_put(ctx, data, source, 7, next);
    shmem_ctx_long_p(ctx, &data[7], source[7], next);
    shmem_ctx_long_atomic_add(ctx, &counter, me + 1, 0);
    shmem_ctx_uint64_atomic_or(ctx, &word, 0x0f, next);
    shmem_ctx_fence(ctx);
    shmem_ctx_long_atomic_set(ctx, &flag, 1 + round, next);
    shmem_ctx_quiet(ctx);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1 + round);
    for (int i = 0; i < 8; i++) {
        CHECKF(data[i] == prev * 100 + i + round, "%ld", data[i]);
    }
    CHECK(word == 0xff);
    shmem_ctx_long_get(ctx, found, data, 8, next);
    CHECK(memcmp(found, source, sizeof found) == 0);
    memset(found, 0, sizeof found);
    shmem_ctx_long_get_nbi(ctx, found, data, 8, next);
    shmem_ctx_quiet(ctx);
    CHECK(memcmp(found, source, sizeof found) == 0);
    CHECK(shmem_ctx_long_g(ctx, &data[3], next) == source[3]);
    shmem_barrier_all();
    CHECK(shmem_ctx_long_atomic_fetch(ctx, &counter, 0) == (long)npes * (npes + 1) / 2);
    shmem_barrier_all();
    shmem_ctx_long_put_nbi(ctx, data, found, 8, me);
    shmem_ctx_quiet(ctx);
    CHECK(data[5] == source[5]);
    shmem_barrier_all();
}

int main(void) {
    test_begin();
    static const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                                   SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE, SHMEM_CTX_SERIALIZED | SHMEM_CTX_NOSTORE};
    use(SHMEM_CTX_DEFAULT, 0);
    for (int o = 0; o < 6; o++) {
        shmem_ctx_t ctx;
        CHECK(shmem_ctx_create(options[o], &ctx) == 0);
        use(ctx, o + 1);
        /* Destroying completes what is pending. */
        data[0] = 0;
        shmem_barrier_all();
        long value = 4000 + me + o;
        shmem_ctx_long_put_nbi(ctx, data, &value, 1, next);
        shmem_ctx_destroy(ctx);
        shmem_barrier_all();
        CHECKF(data[0] == 4000 + prev + o, "%ld", data[0]);
        shmem_barrier_all();
    }

    /* Creating is not collective, and there may be none or many. */
    enum { MANY = 40 };
    shmem_ctx_t all[MANY];
    int made = 0;
    while (made < MANY - me && shmem_ctx_create(made % 2 ? SHMEM_CTX_PRIVATE : 0, &all[made]) == 0) {
        made++;
    }
    CHECKF(made >= 8, "%d", made);
    long *sums = shmem_calloc(MANY, sizeof(long));
    for (int i = 0; i < made; i++) {
        for (int j = 0; j < made; j++) {
            CHECK(i == j || all[i] != all[j]);
        }
        shmem_ctx_long_atomic_add(all[i], &sums[i], 1, 0);
    }
    for (int i = made; i-- > 0;) {
        shmem_ctx_quiet(all[i]);
        shmem_ctx_destroy(all[i]);
    }
    shmem_barrier_all();
    CHECK(me != 0 || sums[0] == npes);
    CHECK(me != 0 || sums[7] == npes);
    shmem_barrier_all();

    /* Again and again: nothing is used up. */
    for (int i = 0; i < rounds(300); i++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        CHECK(shmem_ctx_create(i % 3 ? SHMEM_CTX_SERIALIZED : 0, &ctx) == 0);
        CHECK(ctx != SHMEM_CTX_INVALID && ctx != SHMEM_CTX_DEFAULT);
        shmem_ctx_long_atomic_add(ctx, &sums[me % MANY], 1, next);
        shmem_ctx_destroy(ctx);
    }
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_barrier_all();
    shmem_free(sums);
    return test_end("contexts");
}
