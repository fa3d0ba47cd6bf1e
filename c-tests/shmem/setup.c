/* Setup and queries: "Library Setup, Exit, and Query Routines" of OpenSHMEM 1.6. The first argument, if
 * there is one, is the number of PEs that the launcher was asked for.
 * shmem-test: args=@pes
 * shmem-test: peer=yes */
#include "shtest.h"

static int global_array[4] = {1, 2, 3, 4};
static long global_zero;
static long arrivals;

int main(int argc, char **argv) {
    test_begin();
    CHECK(npes >= 1 && me >= 0 && me < npes);
    if (argc > 1) {
        CHECKF(npes == atoi(argv[1]), "%d", npes);
    }
    CHECK(shmem_my_pe() == me && shmem_n_pes() == npes);

    int major = -1, minor = -1;
    shmem_info_get_version(&major, &minor);
    CHECKF(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION, "%d.%d", major, minor);
    CHECK(major == 1 && minor >= 4);
    char name[SHMEM_MAX_NAME_LEN];
    memset(name, 'x', sizeof name);
    shmem_info_get_name(name);
    CHECK(memchr(name, 0, sizeof name) != NULL && name[0] != 0);
    CHECKF(strcmp(name, SHMEM_VENDOR_STRING) == 0, "%s", name);

    int level = -1;
    shmem_query_thread(&level);
    CHECK(level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE);
    CHECK(SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED && SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
          SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);

    long *heap = shmem_malloc(sizeof(long));
    int on_stack = 0;
    for (int pe = 0; pe < npes; pe++) {
        CHECK(shmem_pe_accessible(pe) == 1);
        CHECK(shmem_addr_accessible(heap, pe) == 1);
        CHECK(shmem_addr_accessible(global_array, pe) == 1);
        CHECK(shmem_addr_accessible(&global_zero, pe) == 1);
        CHECK(shmem_addr_accessible(&on_stack, pe) == 0);
    }
    CHECK(shmem_pe_accessible(npes) == 0);
    CHECK(shmem_pe_accessible(-1) == 0);

    /* Numbers are given once: everybody counts in its own place of everybody. */
    for (int pe = 0; pe < npes; pe++) {
        shmem_long_atomic_add(&arrivals, 1L << (me % 60), pe);
    }
    shmem_barrier_all();
    long expected = 0;
    for (int pe = 0; pe < npes; pe++) {
        expected += 1L << (pe % 60);
    }
    CHECKF(arrivals == expected, "%lx", arrivals);
    for (int i = 0; i < 100; i++) {
        shmem_barrier_all();
        shmem_sync_all();
    }
    shmem_free(heap);
    return test_end("setup");
}
