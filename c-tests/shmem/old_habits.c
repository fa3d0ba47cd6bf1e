/* What programs for other implementations do: flags declared volatile, alignments below a pointer's size, the linker
 * names -lsma and -loshmem, the older name of the heap's size.
 * shmem-test: flags=-lsma -loshmem -Werror=discarded-qualifiers
 * shmem-test: env=SHMEM_SYMMETRIC_HEAP_SIZE=3M */
#include "shtest.h"

static volatile long flag, words[2], lock;
static volatile short small;
static volatile int first;
static volatile uint64_t signal_word;

int main(void) {
    test_begin();
    shmem_barrier_all();
    shmem_long_p((long *)&flag, 1, next);
    shmem_short_p((short *)&small, 2, next);
    shmem_long_p((long *)words + 1, 3, next);
    shmem_int_p((int *)&first, 4, next);
    shmem_signal_set((uint64_t *)&signal_word, 5, next);
    shmem_quiet();
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_short_wait_until(&small, SHMEM_CMP_EQ, 2);
    shmem_long_wait(&words[1], 0);
    CHECK(shmem_long_wait_until_any(words, 2, NULL, SHMEM_CMP_EQ, 3) == 1);
    CHECK(shmem_long_test(&words[1], SHMEM_CMP_GE, 3) == 1);
    CHECK(shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, 5) == 5 && shmem_signal_fetch(&signal_word) == 5);
#if __STDC_VERSION__ >= 201112L
    /* The type-generic names choose the routine of the type without volatile. */
    shmem_wait_until(&first, SHMEM_CMP_EQ, 4);
    CHECK(shmem_test(&small, SHMEM_CMP_EQ, 2) && shmem_test_all(words + 1, 1, NULL, SHMEM_CMP_NE, 0));
#endif
    shmem_set_lock(&lock);
    shmem_clear_lock(&lock);
    for (size_t alignment = 1; alignment <= 16; alignment *= 2) {
        char *block = shmem_align(alignment, 37);
        CHECKF(block && ((uintptr_t)block & (alignment - 1)) == 0, "%zu", alignment);
        shmem_free(block);
    }
    CHECK(shmem_malloc((size_t)2 << 20) != NULL && shmem_malloc((size_t)2 << 20) == NULL);
    return test_end("old_habits");
}
