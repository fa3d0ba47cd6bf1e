/* The oldest way in: start_pes, _my_pe and _num_pes, and no shmem_finalize at all (deprecated since 1.2).
 * shmem-test: flags=-Wno-deprecated-declarations */
#include "shtest.h"

static long seen;

int main(void) {
    start_pes(0);
    start_pes(0);
    me = _my_pe();
    npes = _num_pes();
    next = (me + 1) % npes;
    prev = (me + npes - 1) % npes;
    CHECK(me == shmem_my_pe() && npes == shmem_n_pes());
    shmem_long_p(&seen, 100 + me, next);
    shmem_barrier_all();
    CHECK(seen == 100 + prev);
    return test_line("start_pes");
}
