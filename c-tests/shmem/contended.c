/* Atomics from all PEs on the same words at the same time: nothing is lost, whatever operations meet, and every
 * fetched value is seen once. */
#include "shtest.h"
#include "types.h"

enum { EACH = 300 };

#define TEST(NAME, TYPE)                                                                              \
    static TYPE sum_##NAME, highest_##NAME;                                                           \
    static void test_##NAME(void) {                                                                   \
        sum_##NAME = 0;                                                                               \
        highest_##NAME = 0;                                                                           \
        shmem_barrier_all();                                                                          \
        TYPE last = 0;                                                                                \
        for (int i = 0; i < EACH; i++) {                                                              \
            int target = i % npes;                                                                    \
            switch (i % 4) {                                                                          \
            case 0: shmem_##NAME##_atomic_add(&sum_##NAME, 3, target); break;                         \
            case 1: (void)shmem_##NAME##_atomic_fetch_add(&sum_##NAME, 2, target); break;             \
            case 2: shmem_##NAME##_atomic_inc(&sum_##NAME, target); break;                            \
            default: {                                                                                \
                TYPE seen = shmem_##NAME##_atomic_fetch(&sum_##NAME, target), was;                    \
                while ((was = shmem_##NAME##_atomic_compare_swap(&sum_##NAME, seen, (TYPE)(seen + 4), \
                                                                 target)) != seen)                    \
                    seen = was;                                                                       \
            }                                                                                         \
            }                                                                                         \
            TYPE now = shmem_##NAME##_atomic_fetch_inc(&highest_##NAME, 0);                           \
            CHECK(i == 0 || now > last);                                                              \
            last = now;                                                                               \
        }                                                                                             \
        shmem_barrier_all();                                                                          \
        TYPE total = 0;                                                                               \
        if (me == 0) {                                                                                \
            for (int pe = 0; pe < npes; pe++) total += shmem_##NAME##_g(&sum_##NAME, pe);             \
            CHECK(total == (TYPE)(npes * (EACH / 4) * 10));                                           \
            CHECK(highest_##NAME == (TYPE)(npes * EACH));                                             \
        }                                                                                             \
        shmem_barrier_all();                                                                          \
    }
AMO_TYPES(TEST)

static uint64_t bits[2];
static double tokens;

int main(void) {
    test_begin();
#define CALL(NAME, TYPE) test_##NAME();
    AMO_TYPES(CALL)
    /* Each PE owns two bits of PE 0's words, and flips them while the others do the same with theirs. */
    bits[1] = ~(uint64_t)0;
    shmem_barrier_all();
    uint64_t mine = (uint64_t)3 << (2 * (me % 32));
    for (int i = 0; i < EACH; i++) {
        uint64_t was = shmem_uint64_atomic_fetch_or(&bits[0], mine, 0);
        CHECK((was & mine) == 0 || npes > 32);
        was = shmem_uint64_atomic_fetch_and(&bits[0], ~mine, 0);
        CHECK((was & mine) == mine || npes > 32);
        shmem_uint64_atomic_xor(&bits[1], mine, 0);
    }
    shmem_barrier_all();
    CHECK(me != 0 || (bits[0] == 0 && bits[1] == ~(uint64_t)0));
    /* A token that is swapped around is never doubled: the sum of all that is held stays. */
    tokens = me + 1;
    shmem_barrier_all();
    double held = 0;
    for (int i = 0; i < EACH; i++) {
        held = shmem_double_atomic_swap(&tokens, held, (me + i) % npes);
    }
    static double all_held;
    all_held = held;
    shmem_barrier_all();
    if (me == 0) {
        double total = 0;
        for (int pe = 0; pe < npes; pe++) {
            total += shmem_double_g(&tokens, pe) + shmem_double_g(&all_held, pe);
        }
        CHECKF(total == npes * (npes + 1) / 2.0, "%g", total);
    }
    return test_end("contended");
}
