/* shmem_init_thread at the level of the first argument, 0 to 3: "Thread Support".
 * shmem-test: args=0
 * shmem-test: args=1
 * shmem-test: args=2
 * shmem-test: args=3 */
#include "shtest.h"

static int box;

int main(int argc, char **argv) {
    static const int levels[] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED,
                                 SHMEM_THREAD_MULTIPLE};
    int requested = levels[argc > 1 ? atoi(argv[1]) & 3 : 3], provided = -1, now = -1;
    int status = shmem_init_thread(requested, &provided);
    test_numbers();
    CHECK(status == 0);
    CHECKF(provided >= requested && provided <= SHMEM_THREAD_MULTIPLE, "%d", provided);
    shmem_query_thread(&now);
    CHECK(now == provided);
    shmem_int_p(&box, me + 1, next);
    shmem_barrier_all();
    CHECK(box == prev + 1);
    return test_end("init_thread");
}
