/* PE 0 computes for a while and calls nothing; the others put to it, get from it and add to its counters, and need not
 * wait for it ("Progress of OpenSHMEM Operations"). HETMP_TEST_COMPUTE is the time in seconds, 3 unless set.
 * shmem-test: pes=2 4
 * shmem-test: slow */
#include "shtest.h"

enum { N = 1 << 16 };
static long counter, words[64];
static uint64_t sig;
static volatile double sink = 1;

int main(void) {
    const char *text = getenv("HETMP_TEST_COMPUTE");
    double length = text ? atof(text) : 3;
    test_begin();
    char *block = shmem_calloc(N, (size_t)npes);
    for (int i = 0; i < 64; i++) {
        words[i] = me * 100 + i;
    }
    shmem_barrier_all();
    double began = seconds();
    if (me == 0) {
        while (seconds() - began < length) {
            for (int i = 0; i < 100000; i++) {
                sink = sink * 1.0000001 + 1e-9;
            }
        }
    } else {
        char *source = malloc(N), *found = malloc(N);
        memset(source, 'a' + me, N);
        for (int r = 0; r < 20; r++) {
            shmem_putmem(block + (size_t)me * N, source, N, 0);
            shmem_long_p(&words[0], 7, 0);
            CHECK(shmem_long_g(&words[5], 0) == 5);
            (void)shmem_long_atomic_fetch_add(&counter, 1, 0);
            shmem_long_atomic_inc(&counter, 0);
            shmem_quiet();
            shmem_getmem(found, block + (size_t)me * N, N, 0);
            CHECK(memcmp(source, found, N) == 0);
            shmem_putmem_signal_nbi(block + (size_t)me * N, source, N, &sig, 1, SHMEM_SIGNAL_ADD, 0);
            shmem_quiet();
        }
        double took = seconds() - began;
        /* Long before PE 0 is done. */
        CHECKF(took < length * 0.6, "%.2f s", took);
        free(source);
        free(found);
    }
    shmem_barrier_all();
    if (me == 0) {
        CHECKF(counter == 40L * (npes - 1), "%ld", counter);
        CHECK(shmem_signal_fetch(&sig) == 20u * (unsigned)(npes - 1));
        CHECK(block[N + 5] == 'b' && words[0] == 7);
    }
    return test_end("progress");
}
