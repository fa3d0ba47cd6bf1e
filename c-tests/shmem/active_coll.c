/* The deprecated collectives over active sets: barrier, sync, broadcast, collect, fcollect, alltoall, alltoalls, with
 * strides, parts of the world, and pSync arrays in turns.
 * shmem-test: peer=yes
 * shmem-test: flags=-Wno-deprecated-declarations */
#include "shtest.h"

enum { N = 6, MOST = 64 };
static long barrier_sync[2][SHMEM_BARRIER_SYNC_SIZE], sync_sync[2][SHMEM_BARRIER_SYNC_SIZE];
static long bcast_sync[2][SHMEM_BCAST_SYNC_SIZE], collect_sync[2][SHMEM_COLLECT_SYNC_SIZE];
static long alltoall_sync[2][SHMEM_ALLTOALL_SYNC_SIZE], alltoalls_sync[2][SHMEM_ALLTOALLS_SYNC_SIZE];
static uint32_t source32[MOST * N * 3], target32[MOST * N * 3];
static uint64_t source64[MOST * N * 3], target64[MOST * N * 3];
static long box;
static int turn;

static void values(uint32_t *narrow, uint64_t *wide, int rank, int count, uint32_t seed) {
    for (int i = 0; i < count; i++) {
        narrow[i] = (uint32_t)rank * 1000u + (uint32_t)i + seed;
        wide[i] = ((uint64_t)rank << 40) + (uint64_t)i + seed;
    }
}

#define NARROW(rank, i, seed) ((uint32_t)(rank) * 1000u + (uint32_t)(i) + (seed))
#define WIDE(rank, i, seed) (((uint64_t)(rank) << 40) + (uint64_t)(i) + (seed))

static void on(int start, int log_stride, int size) {
    int stride = 1 << log_stride, rank = -1;
    for (int i = 0; i < size; i++) {
        if (start + i * stride == me) {
            rank = i;
        }
    }
    if (rank < 0) {
        return;
    }
    uint32_t seed = (uint32_t)(start * 7 + log_stride * 3 + size);
    int to = start + (rank + 1) % size * stride, from = (rank + size - 1) % size;
    for (int r = 0; r < 4; r++) {
        int t = turn++ % 2;
        shmem_long_p(&box, start + me * 10 + r, to);
        shmem_barrier(start, log_stride, size, barrier_sync[t]);
        CHECKF(box == start + (start + from * stride) * 10 + r, "%ld", box);
        shmem_sync(start, log_stride, size, sync_sync[t]);

        int root = r % size;
        values(source32, source64, rank, N, seed);
        memset(target32, 0, sizeof target32);
        memset(target64, 0, sizeof target64);
        shmem_barrier(start, log_stride, size, barrier_sync[1 - t]);
        shmem_broadcast32(target32, source32, N, root, start, log_stride, size, bcast_sync[0]);
        shmem_broadcast64(target64, source64, N, root, start, log_stride, size, bcast_sync[1]);
        for (int i = 0; i < N; i++) {
            /* The root's own target stays as it is. */
            CHECK(target32[i] == (rank == root ? 0 : NARROW(root, i, seed)));
            CHECK(target64[i] == (rank == root ? 0 : WIDE(root, i, seed)));
        }

        shmem_barrier(start, log_stride, size, barrier_sync[t]);
        shmem_collect32(target32, source32, (size_t)(rank + 1), start, log_stride, size, collect_sync[0]);
        shmem_collect64(target64, source64, (size_t)(rank % 3), start, log_stride, size, collect_sync[1]);
        int at = 0, at64 = 0;
        for (int pe = 0; pe < size; pe++) {
            for (int i = 0; i < pe + 1; i++, at++) {
                CHECK(i >= N || target32[at] == NARROW(pe, i, seed));
            }
            for (int i = 0; i < pe % 3; i++, at64++) {
                CHECK(target64[at64] == WIDE(pe, i, seed));
            }
        }

        shmem_barrier(start, log_stride, size, barrier_sync[1 - t]);
        shmem_fcollect32(target32, source32, N, start, log_stride, size, collect_sync[0]);
        shmem_fcollect64(target64, source64, N, start, log_stride, size, collect_sync[1]);
        for (int pe = 0; pe < size; pe++) {
            for (int i = 0; i < N; i++) {
                CHECK(target32[pe * N + i] == NARROW(pe, i, seed));
                CHECK(target64[pe * N + i] == WIDE(pe, i, seed));
            }
        }

        values(source32, source64, rank, size * N * 3, seed);
        shmem_barrier(start, log_stride, size, barrier_sync[t]);
        shmem_alltoall32(target32, source32, N, start, log_stride, size, alltoall_sync[0]);
        shmem_alltoall64(target64, source64, N, start, log_stride, size, alltoall_sync[1]);
        for (int pe = 0; pe < size; pe++) {
            for (int i = 0; i < N; i++) {
                CHECK(target32[pe * N + i] == NARROW(pe, rank * N + i, seed));
                CHECK(target64[pe * N + i] == WIDE(pe, rank * N + i, seed));
            }
        }
        memset(target32, 0, sizeof target32);
        memset(target64, 0, sizeof target64);
        shmem_barrier(start, log_stride, size, barrier_sync[1 - t]);
        shmem_alltoalls32(target32, source32, 2, 3, N, start, log_stride, size, alltoalls_sync[0]);
        shmem_alltoalls64(target64, source64, 3, 2, N, start, log_stride, size, alltoalls_sync[1]);
        for (int pe = 0; pe < size; pe++) {
            for (int i = 0; i < N; i++) {
                CHECK(target32[(pe * N + i) * 2] == NARROW(pe, (rank * N + i) * 3, seed));
                CHECK(target64[(pe * N + i) * 3] == WIDE(pe, (rank * N + i) * 2, seed));
                CHECK(target32[(pe * N + i) * 2 + 1] == 0 && target64[(pe * N + i) * 3 + 1] == 0);
            }
        }
        shmem_barrier(start, log_stride, size, barrier_sync[t]);
    }
}

/* A pSync array is as it was when its collective has ended. */
static void restored(const long *array, int count) {
    int other = 0;
    for (int i = 0; i < count; i++) {
        other += array[i] != SHMEM_SYNC_VALUE;
    }
    CHECKF(other == 0, "%d", other);
}

#define FILL(array, size) \
    for (int i = 0; i < 2 * (size); i++) ((long *)(array))[i] = SHMEM_SYNC_VALUE

int main(void) {
    test_begin();
    FILL(barrier_sync, SHMEM_BARRIER_SYNC_SIZE);
    FILL(sync_sync, SHMEM_BARRIER_SYNC_SIZE);
    FILL(bcast_sync, SHMEM_BCAST_SYNC_SIZE);
    FILL(collect_sync, SHMEM_COLLECT_SYNC_SIZE);
    FILL(alltoall_sync, SHMEM_ALLTOALL_SYNC_SIZE);
    FILL(alltoalls_sync, SHMEM_ALLTOALLS_SYNC_SIZE);
    shmem_barrier_all();
    on(0, 0, npes);
    shmem_barrier_all();
    for (int log_stride = 0; 1 << log_stride <= npes; log_stride++) {
        int stride = 1 << log_stride;
        for (int start = 0; start < npes && start < 3; start++) {
            on(start, log_stride, (npes - start + stride - 1) / stride);
            shmem_barrier_all();
        }
    }
    /* Two sets without a PE in common at the same time. */
    if (npes > 1) {
        on(me % 2, 1, (npes + 1 - me % 2) / 2);
    }
    shmem_barrier_all();
    restored(bcast_sync[0], SHMEM_BCAST_SYNC_SIZE);
    restored(collect_sync[1], SHMEM_COLLECT_SYNC_SIZE);
    restored(alltoall_sync[0], SHMEM_ALLTOALL_SYNC_SIZE);
    restored(alltoalls_sync[0], SHMEM_ALLTOALLS_SYNC_SIZE);
    restored(barrier_sync[0], SHMEM_BARRIER_SYNC_SIZE);
    return test_end("active_coll");
}
