/* shmem_ptr. HETMP_TEST_PTR=1 says that it must work for every PE, =0 that it must for none but this
 * one; otherwise either is right, but what it returns must be memory of that PE.
 */
#include "shtest.h"

static long in_bss[64];
static long in_data[64] = {1, 2, 3};

static void through(long *object) {
    const char *text = getenv("HETMP_TEST_PTR");
    for (int i = 0; i < 64; i++) {
        object[i] = me * 1000 + i;
    }
    shmem_barrier_all();
    long *own = shmem_ptr(object, me);
    CHECK(own == NULL || own[5] == me * 1000 + 5);
    long *theirs = shmem_ptr(object, next);
    if (text && next != me) {
        CHECK((theirs != NULL) == (atoi(text) != 0));
    }
    long *inner = shmem_ptr(&object[10], next);
    CHECK((inner == NULL) == (theirs == NULL));
    if (theirs) {
        CHECK(inner == theirs + 10);
        CHECKF(theirs[63] == next * 1000 + 63, "%ld", theirs[63]);
        theirs[20] = 7000 + me;
    } else {
        long value = 7000 + me;
        shmem_long_put(&object[20], &value, 1, next);
    }
    shmem_barrier_all();
    CHECKF(object[20] == 7000 + prev, "%ld", object[20]);
    shmem_barrier_all();
}

int main(void) {
    test_begin();
    long *heap = shmem_malloc(64 * sizeof(long));
    through(heap);
    through(in_bss);
    through(in_data);
    long local = 0;
    CHECK(shmem_ptr(&local, next) == NULL);
    shmem_free(heap);
    return test_end("ptr");
}
