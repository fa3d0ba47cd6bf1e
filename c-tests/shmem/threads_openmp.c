/* SHMEM_THREAD_MULTIPLE from OpenMP threads, of any OpenMP runtime: the counting loop of work that all PEs share,
 * a context for each thread, puts from nested regions.
 * shmem-test: flags=-fopenmp
 * shmem-test: env=OMP_NUM_THREADS=3 */
#include "shtest.h"
#include <omp.h>

enum { TASKS = 2000 };
static long next_task, done_by_all, marks[TASKS];

int main(void) {
    int provided = -1;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    test_numbers();
    long done = 0;
#pragma omp parallel reduction(+ : done)
    {
        shmem_ctx_t ctx;
        if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) != 0) {
            ctx = SHMEM_CTX_DEFAULT;
        }
        /* Tasks are taken from PE 0's counter, each marked where it lies. */
        for (;;) {
            long task = shmem_ctx_long_atomic_fetch_inc(ctx, &next_task, 0);
            if (task >= TASKS) {
                break;
            }
            shmem_ctx_long_atomic_inc(ctx, &marks[task], (int)(task % npes));
            done++;
        }
        if (ctx != SHMEM_CTX_DEFAULT) {
            shmem_ctx_destroy(ctx);
        }
    }
    shmem_long_atomic_add(&done_by_all, done, 0);
    shmem_quiet();
    shmem_barrier_all();
    CHECKF(me != 0 || done_by_all == TASKS, "%ld", done_by_all);
    for (int task = 0; task < TASKS; task++) {
        CHECK(marks[task] == (task % npes == me));
    }
    shmem_barrier_all();
    /* A loop whose iterations put, gets checked by another loop. */
    static long row[TASKS];
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < TASKS; i++) {
        shmem_long_p(&row[i], me * 10000L + i, next);
    }
    shmem_barrier_all();
    long wrong = 0;
#pragma omp parallel for reduction(+ : wrong)
    for (int i = 0; i < TASKS; i++) {
        wrong += row[i] != prev * 10000L + i || shmem_long_g(&row[i], next) != me * 10000L + i;
    }
    CHECKF(wrong == 0, "%ld", wrong);
    /* Collectives from the thread that may: one at a time. */
    static long mine[8], all[8];
#pragma omp parallel
    for (int i = 0; i < 8; i++) {
#pragma omp barrier
#pragma omp single
        {
            mine[i] = me + i;
            CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all[i], &mine[i], 1) == 0);
            CHECK(all[i] == (long)npes * (npes - 1) / 2 + (long)npes * i);
        }
    }
    return test_end("threads_openmp");
}
