/* The profiling interface: every routine has a second name, pshmem_..., and a program may define the first one itself
 * ("Profiling Interface"). Here the program is its own tool.
 * shmem-test: builds=default O0 */
#include "shtest.h"
#ifndef PSHMEM_DECLARED
#include <pshmem.h>
#endif

static int calls[8];
static int box[4];
static long counter;

void shmem_int_put(int *dest, const int *source, size_t nelems, int pe) {
    calls[0]++;
    pshmem_int_put(dest, source, nelems, pe);
}

void shmem_barrier_all(void) {
    calls[1]++;
    pshmem_barrier_all();
}

long shmem_long_atomic_fetch_add(long *dest, long value, int pe) {
    calls[2]++;
    return pshmem_long_atomic_fetch_add(dest, value, pe);
}

int shmem_my_pe(void) {
    calls[3]++;
    return pshmem_my_pe();
}

int main(void) {
    test_begin();
    CHECK(calls[3] == 1);
    int source[4] = {me, me + 1, me + 2, me + 3};
    shmem_int_put(box, source, 3, next);
    /* Not intercepted, and does not pass through the tool by itself either. */
    shmem_int_p(&box[3], 90 + me, next);
    shmem_barrier_all();
    CHECK(box[0] == prev && box[2] == prev + 2 && box[3] == 90 + prev);
    CHECK(shmem_long_atomic_fetch_add(&counter, 5, me) == 0);
    CHECK(pshmem_long_atomic_fetch(&counter, me) == 5);
    CHECKF(calls[0] == 1 && calls[1] == 1 && calls[2] == 1, "%d %d %d", calls[0], calls[1], calls[2]);
    shmem_pcontrol(0);
    shmem_pcontrol(1);
    shmem_pcontrol(3, "more", 1.0);
    CHECK(pshmem_n_pes() == npes);
    void *block = pshmem_malloc(10);
    CHECK(block != NULL);
    pshmem_free(block);
    /* The library's own barriers (test_end, shmem_free) are none of the program's. */
    CHECK(calls[1] == 1);
    return test_end("profiling");
}
