/* Deprecated names: atomics without "atomic", shmem_wait, memory functions, cache functions, constants.
 * shmem-test: flags=-Wno-deprecated-declarations */
#include "shtest.h"

#define FETCHED(NAME, TYPE) \
    static TYPE ext_##NAME; \
    static void test_ext_##NAME(void) { \
        ext_##NAME = (TYPE)(me + 1); \
        shmem_barrier_all(); \
        CHECK(shmem_##NAME##_fetch(&ext_##NAME, next) == (TYPE)(next + 1)); \
        CHECK(shmem_##NAME##_swap(&ext_##NAME, (TYPE)(me + 40), next) == (TYPE)(next + 1)); \
        shmem_barrier_all(); \
        CHECK(ext_##NAME == (TYPE)(prev + 40)); \
        shmem_barrier_all(); \
        shmem_##NAME##_set(&ext_##NAME, (TYPE)(me + 80), next); \
        shmem_barrier_all(); \
        CHECK(ext_##NAME == (TYPE)(prev + 80)); \
        shmem_barrier_all(); \
    }
FETCHED(float, float)
FETCHED(double, double)
FETCHED(int, int)
FETCHED(long, long)
FETCHED(longlong, long long)

#define COUNTED(NAME, TYPE) \
    static TYPE std_##NAME; \
    static void test_std_##NAME(void) { \
        std_##NAME = 5; \
        shmem_barrier_all(); \
        CHECK(shmem_##NAME##_cswap(&std_##NAME, 5, 10, next) == 5); \
        CHECK(shmem_##NAME##_finc(&std_##NAME, next) == 10); \
        CHECK(shmem_##NAME##_fadd(&std_##NAME, 4, next) == 11); \
        shmem_##NAME##_inc(&std_##NAME, next); \
        shmem_##NAME##_add(&std_##NAME, 100, next); \
        shmem_barrier_all(); \
        CHECK(std_##NAME == 116); \
        shmem_barrier_all(); \
    }
COUNTED(int, int)
COUNTED(long, long)
COUNTED(longlong, long long)

#define WAITED(NAME, TYPE) \
    static TYPE wait_##NAME; \
    static void test_wait_##NAME(void) { \
        wait_##NAME = 3; \
        shmem_barrier_all(); \
        shmem_##NAME##_p(&wait_##NAME, 4, next); \
        shmem_##NAME##_wait(&wait_##NAME, 3); \
        CHECK(wait_##NAME == 4); \
        shmem_barrier_all(); \
        shmem_##NAME##_p(&wait_##NAME, 6, next); \
        shmem_##NAME##_wait_until(&wait_##NAME, _SHMEM_CMP_GT, 5); \
        CHECK(wait_##NAME == 6); \
        shmem_barrier_all(); \
    }
WAITED(short, short)
WAITED(int, int)
WAITED(long, long)
WAITED(longlong, long long)

static long plain;

static void memory(void) {
    long *block = shmalloc(100 * sizeof(long));
    CHECK(block != NULL);
    block[0] = me;
    block = shrealloc(block, 1000 * sizeof(long));
    CHECK(block != NULL && block[0] == me);
    shmem_barrier_all();
    shmem_long_p(&block[999], me, next);
    shmem_barrier_all();
    CHECK(block[999] == prev);
    shfree(block);
    block = shmemalign(4096, 10);
    CHECK(((size_t)block & 4095) == 0);
    shfree(block);
}

static void cache(void) {
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(&plain);
    shmem_clear_cache_inv();
    shmem_clear_cache_line_inv(&plain);
    shmem_udcflush();
    shmem_udcflush_line(&plain);
}

static void constants(void) {
    CHECK(_SHMEM_CMP_EQ == SHMEM_CMP_EQ && _SHMEM_CMP_NE == SHMEM_CMP_NE && _SHMEM_CMP_GT == SHMEM_CMP_GT &&
          _SHMEM_CMP_GE == SHMEM_CMP_GE && _SHMEM_CMP_LT == SHMEM_CMP_LT && _SHMEM_CMP_LE == SHMEM_CMP_LE);
    CHECK(_SHMEM_SYNC_VALUE == SHMEM_SYNC_VALUE && _SHMEM_BCAST_SYNC_SIZE == SHMEM_BCAST_SYNC_SIZE &&
          _SHMEM_REDUCE_SYNC_SIZE == SHMEM_REDUCE_SYNC_SIZE && _SHMEM_BARRIER_SYNC_SIZE == SHMEM_BARRIER_SYNC_SIZE &&
          _SHMEM_COLLECT_SYNC_SIZE == SHMEM_COLLECT_SYNC_SIZE &&
          _SHMEM_REDUCE_MIN_WRKDATA_SIZE == SHMEM_REDUCE_MIN_WRKDATA_SIZE);
    CHECK(_SHMEM_MAJOR_VERSION == SHMEM_MAJOR_VERSION && _SHMEM_MINOR_VERSION == SHMEM_MINOR_VERSION &&
          _SHMEM_MAX_NAME_LEN == SHMEM_MAX_NAME_LEN && strcmp(_SHMEM_VENDOR_STRING, SHMEM_VENDOR_STRING) == 0);
    CHECK(SHMEM_ALLTOALL_SYNC_SIZE > 0 && SHMEM_ALLTOALLS_SYNC_SIZE > 0 && SHMEM_SYNC_SIZE > 0);
}

int main(void) {
    test_begin();
    CHECK(_my_pe() == me && _num_pes() == npes);
    test_ext_float();
    test_ext_double();
    test_ext_int();
    test_ext_long();
    test_ext_longlong();
    test_std_int();
    test_std_long();
    test_std_longlong();
    test_wait_short();
    test_wait_int();
    test_wait_long();
    test_wait_longlong();
    shmem_barrier_all();
    shmem_long_p(&plain, 1, next);
    shmem_wait(&plain, 0);
    CHECK(plain == 1);
    shmem_wait_until(&plain, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    memory();
    cache();
    constants();
    return test_end("deprecated");
}
