/* shmem-test: manual
 * PEs between whose operations the program closes descriptors that it did not open, or takes their numbers. With an
 * argument it does so up to number 1023. */
#define SAY(...) ((void)(0 && printf(__VA_ARGS__)))
#include "../openmp/closes.h"
#include "shtest.h"

static long table[64], count;

static void work(const char *step) {
    static long round;
    long found = 0;
    (void)step;
    round++;
    shmem_long_p(&table[me % 64], round * 10 + prev, next);
    shmem_barrier_all();
    CHECKF(table[prev % 64] == round * 10 + (prev + npes - 1) % npes, "%s: %ld", step, table[prev % 64]);
    shmem_long_atomic_add(&count, 1, 0);
    shmem_barrier_all();
    found = shmem_long_g(&count, 0);
    CHECKF(found == round * npes, "%s: %ld", step, found);
    long *made = shmem_malloc(4096);
    CHECK(made != NULL);
    shmem_free(made);
}

int main(int n, char **args) {
    closes_all = n < 2;
    (void)args;
    test_begin();
    use_descriptors(work);
    return test_end("closes");
}
