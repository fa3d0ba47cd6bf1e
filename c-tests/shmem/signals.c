/* Put with signal, blocking and not, for every type and size, setting and adding; shmem_signal_fetch and
 * shmem_signal_wait_until: "Signaling Operations". */
#include "shtest.h"
#include "types.h"

enum { N = 21 };

#define TEST(NAME, TYPE, PUT, CTX_PUT, NBI, CTX_NBI) \
    static TYPE static_##NAME[N]; \
    static uint64_t signal_##NAME; \
    static void round_##NAME(TYPE *target, uint64_t *sig, int form) { \
        TYPE source[N]; \
        memset(target, 0, N * sizeof(TYPE)); \
        memset(source, 0, sizeof source); \
        for (int i = 0; i < N; i++) ((unsigned char *)&source[i])[0] = (unsigned char)(me * 13 + i + form + 1); \
        *sig = 40; \
        shmem_barrier_all(); \
        int add = form % 2; \
        switch (form / 2) { \
        case 0: PUT(target, source, N, sig, 7, add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, next); break; \
        case 1: CTX_PUT(SHMEM_CTX_DEFAULT, target, source, N, sig, 7, add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, \
                        next); break; \
        case 2: NBI(target, source, N, sig, 7, add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, next); break; \
        default: CTX_NBI(SHMEM_CTX_DEFAULT, target, source, N, sig, 7, \
                         add ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, next); \
        } \
        uint64_t wanted = add ? 47 : 7; \
        CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_EQ, wanted) == wanted); \
        CHECK(shmem_signal_fetch(sig) == wanted); \
        for (int i = 0; i < N; i++) \
            CHECK(((unsigned char *)&target[i])[0] == (unsigned char)(prev * 13 + i + form + 1)); \
        /* A nonblocking source is free only now. */ \
        shmem_quiet(); \
        shmem_barrier_all(); \
        /* Nothing to put: the signal alone. */ \
        *sig = 0; \
        shmem_barrier_all(); \
        PUT(target, source, 0, sig, 9, SHMEM_SIGNAL_SET, next); \
        CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_NE, 0) == 9); \
        shmem_barrier_all(); \
    } \
    static void test_##NAME(void) { \
        TYPE *heap = shmem_malloc(N * sizeof(TYPE)); \
        uint64_t *sig = shmem_malloc(sizeof *sig); \
        for (int form = 0; form < 8; form++) { \
            if (form % 3) round_##NAME(heap, sig, form); \
            else round_##NAME(static_##NAME, &signal_##NAME, form); \
        } \
        shmem_free(sig); \
        shmem_free(heap); \
    }
#define TYPED(NAME, TYPE) \
    TEST(NAME, TYPE, shmem_##NAME##_put_signal, shmem_ctx_##NAME##_put_signal, shmem_##NAME##_put_signal_nbi, \
         shmem_ctx_##NAME##_put_signal_nbi)
#define SIZED(BITS, TYPE) \
    TEST(bits_##BITS, TYPE, shmem_put##BITS##_signal, shmem_ctx_put##BITS##_signal, shmem_put##BITS##_signal_nbi, \
         shmem_ctx_put##BITS##_signal_nbi)
RMA_TYPES(TYPED)
SIZES(SIZED)
TEST(mem, unsigned char, shmem_putmem_signal, shmem_ctx_putmem_signal, shmem_putmem_signal_nbi,
     shmem_ctx_putmem_signal_nbi)

/* Everybody puts into PE 0's memory, of every length, and adds to one signal. */
static void to_one(void) {
    enum { MOST = 200000 };
    uint64_t *arrived = shmem_calloc(1, sizeof *arrived);
    char *area = shmem_calloc((size_t)npes, MOST);
    char *source = malloc(MOST);
    static const size_t lengths[] = {1, 7, 8, 64, 1000, 4096, 65536, MOST};
    for (int l = 0; l < 8; l++) {
        memset(source, 'a' + l + me, lengths[l]);
        if (l % 2) {
            shmem_putmem_signal_nbi(area + (size_t)me * MOST, source, lengths[l], arrived, 1, SHMEM_SIGNAL_ADD, 0);
            shmem_quiet();
        } else {
            shmem_putmem_signal(area + (size_t)me * MOST, source, lengths[l], arrived, 1, SHMEM_SIGNAL_ADD, 0);
        }
        if (me == 0) {
            uint64_t seen = shmem_signal_wait_until(arrived, SHMEM_CMP_GE, (uint64_t)(l + 1) * (uint64_t)npes);
            CHECK(seen == (uint64_t)(l + 1) * (uint64_t)npes);
            for (int pe = 0; pe < npes; pe++) {
                size_t wrong = 0;
                for (size_t i = 0; i < lengths[l]; i++) {
                    wrong += area[(size_t)pe * MOST + i] != (char)('a' + l + pe);
                }
                CHECKF(wrong == 0, "%zu of %zu from %d", wrong, lengths[l], pe);
            }
        }
        shmem_barrier_all();
    }
    free(source);
    shmem_free(area);
    shmem_free(arrived);
}

/* A ring of messages, each slot taken again as soon as the reader has said so: the signal never overtakes its data,
 * and a second one never the first. */
static void stream(void) {
    enum { SLOTS = 4, WORDS = 129 };
    static uint64_t full[SLOTS], empty[SLOTS];
    uint64_t *slots = shmem_calloc(SLOTS * WORDS, sizeof(uint64_t));
    uint64_t source[WORDS];
    int count = rounds(400);
    shmem_barrier_all();
    for (int i = 0; i < count; i++) {
        int s = i % SLOTS;
        uint64_t turn = (uint64_t)(i / SLOTS + 1);
        if (turn > 1) {
            shmem_signal_wait_until(&empty[s], SHMEM_CMP_GE, turn - 1);
        }
        for (int w = 0; w < WORDS; w++) {
            source[w] = (uint64_t)i * 1000 + (uint64_t)w;
        }
        size_t words = 1 + (size_t)(i * 37 % WORDS);
        shmem_uint64_put_signal(slots + s * WORDS, source, words, &full[s], turn, SHMEM_SIGNAL_SET, next);
        shmem_signal_wait_until(&full[s], SHMEM_CMP_GE, turn);
        int wrong = 0;
        for (size_t w = 0; w < words; w++) {
            wrong += slots[(size_t)s * WORDS + w] != (uint64_t)i * 1000 + w;
        }
        CHECKF(wrong == 0, "%d in message %d", wrong, i);
        shmem_uint64_put_signal(slots, source, 0, &empty[s], turn, SHMEM_SIGNAL_SET, prev);
    }
    shmem_barrier_all();
    shmem_free(slots);
}

/* Signals with data and without race for one word: sums come out, and no data is behind its signal. */
static void race(void) {
    enum { EACH = 200 };
    static uint64_t sum;
    static long box[64][EACH];
    sum = 0;
    memset(box, 0, sizeof box);
    shmem_barrier_all();
    for (long i = 1; i <= EACH; i++) {
        if (me % 2 == 0) {
            shmem_long_put_signal(&box[me % 64][i - 1], &i, 1, &sum, 1, SHMEM_SIGNAL_ADD, 0);
        } else {
            shmem_signal_add(&sum, 1000000, 0);
        }
        if (me == 0 && i % 20 == 0) {
            shmem_quiet();
            CHECK(shmem_signal_fetch(&sum) % 1000000 >= (uint64_t)i);
            for (int j = 0; j < i; j++) {
                CHECK(box[0][j] == j + 1);
            }
        }
    }
    shmem_barrier_all();
    if (me == 0) {
        uint64_t even = (uint64_t)((npes + 1) / 2), odd = (uint64_t)(npes / 2);
        CHECKF(sum == EACH * even + EACH * 1000000 * odd, "%llu", (unsigned long long)sum);
        for (int pe = 0; pe < npes && pe < 64; pe += 2) {
            for (int j = 0; j < EACH; j++) {
                CHECK(box[pe][j] == j + 1);
            }
        }
    }
    shmem_barrier_all();
}

int main(void) {
    test_begin();
#define CALL(NAME, TYPE) test_##NAME();
    RMA_TYPES(CALL)
#undef CALL
#define CALL(BITS, TYPE) test_bits_##BITS();
    SIZES(CALL)
    test_mem();
    to_one();
    stream();
    race();
    return test_end("signals");
}
