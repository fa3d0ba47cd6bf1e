/* A device's cached memory (hetmp_device_malloc_cached): what a peer gets of it without a flush, and what it sees of
 * what peers put there. Prints, for each step, what arrived or was seen; the test knows what a coherent machine and
 * what the model of a device's memory gives.
 * shmem-test: manual */
#include "shtest.h"
#include <hetmp/device.h>

static uint64_t box[4];

/* The word that PE 0 puts from `source` is what PE 1 prints. */
static void show(hetmp_device_queue *q, const char *step, const uint64_t *source) {
    if (me == 0) {
        hetmp_put(q, 1, box, source, 8);
        hetmp_quiet(q);
    }
    shmem_barrier_all();
    if (me == 1) printf("%s %llu\n", step, (unsigned long long)box[0]);
    shmem_barrier_all();
}

int main(void) {
    test_begin();
    hetmp_device_queue q;
    if (hetmp_device_queue_open(SHMEM_TEAM_WORLD, 8, &q) != 0) shmem_global_exit(1);
    uint64_t *cached = hetmp_device_malloc_cached(10000), *plain = shmem_malloc(64);
    if (!cached || !plain || hetmp_device_malloc_cached(0)) shmem_global_exit(2);
    memset(cached, 0, 10000);
    hetmp_device_kernel_end();
    shmem_barrier_all();

    if (me == 0) cached[0] = 1;
    show(&q, "stored", cached);
    if (me == 0) hetmp_device_flush(cached, 8);
    show(&q, "flushed", cached);
    if (me == 0) cached[0] = 2;
    if (me == 0) hetmp_device_flush(plain, 64); /* another block's */
    show(&q, "other", cached);
    if (me == 0) hetmp_device_kernel_end();
    show(&q, "kernel", cached);
    if (me == 0) plain[0] = 3;
    show(&q, "uncached", plain);

    /* The other direction, far into the block, and to the PE itself. */
    for (int to = 1; to >= 0; to--) {
        if (me == 0) {
            hetmp_p64(&q, to, cached + 1200, 7);
            hetmp_quiet(&q);
        }
        shmem_barrier_all();
        if (me == to) printf("arrived%d %llu\n", to, (unsigned long long)*(volatile uint64_t *)(cached + 1200));
        hetmp_device_kernel_begin();
        if (me == to) printf("next%d %llu\n", to, (unsigned long long)cached[1200]);
        fflush(stdout);
        shmem_barrier_all();
    }
    /* A get reads the image, and writes the image. */
    if (me == 1) cached[2] = 9;
    shmem_barrier_all();
    if (me == 0) {
        hetmp_get(&q, 1, plain, cached + 2, 8);
        hetmp_quiet(&q);
        printf("get %llu\n", (unsigned long long)plain[0]);
        plain[0] = 11;
        hetmp_get(&q, 0, cached + 3, plain, 8);
        hetmp_quiet(&q);
        printf("into %llu\n", (unsigned long long)*(volatile uint64_t *)(cached + 3));
        fflush(stdout);
    }
    shmem_barrier_all();
    /* Blocks that are freed are ordinary memory again. */
    cached[5] = 13;
    cached = shmem_realloc(cached, 20000);
    if (!cached || cached[5] != 13) shmem_global_exit(3);
    if (me == 0) cached[0] = 4;
    show(&q, "ordinary", cached);
    shmem_free(cached);
    hetmp_device_queue_close(&q);
    shmem_finalize();
    return 0;
}
