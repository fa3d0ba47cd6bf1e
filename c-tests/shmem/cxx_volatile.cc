/* Flags declared volatile, in C++, where a lost qualifier is an error: by typed names and by overloads. */
#include "shtest.h"

static volatile long flag;
static volatile int other;
static volatile uint64_t words[2];

int main() {
    test_begin();
    shmem_barrier_all();
    shmem_p(const_cast<long *>(&flag), 1L, next);
    shmem_p(const_cast<int *>(&other), 2, next);
    shmem_p(const_cast<uint64_t *>(words) + 1, uint64_t{3}, next);
    shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    shmem_wait_until(&flag, SHMEM_CMP_EQ, 1L);
    shmem_wait_until(&other, SHMEM_CMP_EQ, 2);
    CHECK(shmem_wait_until_any(words, 2, nullptr, SHMEM_CMP_EQ, uint64_t{3}) == 1);
    CHECK(shmem_test(&flag, SHMEM_CMP_GT, 0L) && shmem_test_all(words + 1, 1, nullptr, SHMEM_CMP_NE, uint64_t{0}));
    return test_end("cxx_volatile");
}
