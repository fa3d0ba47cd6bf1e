/* Team-based broadcast, collect, fcollect, alltoall and alltoalls of every type and of bytes: sizes from nothing to
 * hundreds of kilobytes, every root, in place of the world and of a part of it: "Collective Routines". */
#include "shtest.h"
#include "types.h"

/* A collective's buffers on all members must be ready before it begins; a collective of the whole world in between
 * is a barrier for them. */
enum { N = 5 };

#define TEST(NAME, TYPE, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS) \
    static void all_##NAME(shmem_team_t team, TYPE *target, TYPE *source, int rank, int size) { \
        for (int root = 0; root < size; root++) { \
            for (int i = 0; i < N; i++) { source[i] = VALUE(TYPE, rank, i); target[i] = 0; } \
            shmem_team_sync(team); \
            CHECK(BROADCAST(team, target, source, N, root) == 0); \
            for (int i = 0; i < N; i++) CHECK(target[i] == VALUE(TYPE, root, i)); \
            shmem_team_sync(team); \
        } \
        /* Each member gives one more than the one before it, the first nothing. */ \
        for (int i = 0; i < size; i++) source[i] = VALUE(TYPE, rank, i); \
        for (int i = 0; i < size * size; i++) target[i] = 0; \
        shmem_team_sync(team); \
        CHECK(COLLECT(team, target, source, (size_t)rank) == 0); \
        int at = 0; \
        for (int pe = 0; pe < size; pe++) \
            for (int i = 0; i < pe; i++) { CHECK(target[at] == VALUE(TYPE, pe, i)); at++; } \
        CHECK(at == size * size || target[at] == 0); \
        for (int i = 0; i < N; i++) source[i] = VALUE(TYPE, rank, i + 1); \
        shmem_team_sync(team); \
        CHECK(FCOLLECT(team, target, source, N) == 0); \
        for (int pe = 0; pe < size; pe++) \
            for (int i = 0; i < N; i++) CHECK(target[pe * N + i] == VALUE(TYPE, pe, i + 1)); \
        for (int pe = 0; pe < size; pe++) \
            for (int i = 0; i < N; i++) source[pe * N + i] = VALUE(TYPE, rank, pe * N + i); \
        shmem_team_sync(team); \
        CHECK(ALLTOALL(team, target, source, N) == 0); \
        for (int pe = 0; pe < size; pe++) \
            for (int i = 0; i < N; i++) CHECK(target[pe * N + i] == VALUE(TYPE, pe, rank * N + i)); \
        for (int i = 0; i < size * N * 3; i++) { source[i] = VALUE(TYPE, rank, i); target[i] = 77; } \
        shmem_team_sync(team); \
        CHECK(ALLTOALLS(team, target, source, 2, 3, N) == 0); \
        for (int pe = 0; pe < size; pe++) { \
            for (int i = 0; i < N; i++) { \
                CHECK(target[(pe * N + i) * 2] == VALUE(TYPE, pe, (rank * N + i) * 3)); \
                CHECK((pe * N + i) * 2 + 1 >= size * N * 2 - 1 || target[(pe * N + i) * 2 + 1] == 77); \
            } \
        } \
        shmem_team_sync(team); \
    } \
    static void test_##NAME(shmem_team_t part) { \
        size_t most = (size_t)npes * N * 3 + (size_t)npes * (size_t)npes; \
        TYPE *target = shmem_malloc(most * sizeof(TYPE)), *source = shmem_malloc(most * sizeof(TYPE)); \
        all_##NAME(SHMEM_TEAM_WORLD, target, source, me, npes); \
        if (part != SHMEM_TEAM_INVALID) { \
            all_##NAME(part, target, source, shmem_team_my_pe(part), shmem_team_n_pes(part)); \
        } \
        shmem_free(source); \
        shmem_free(target); \
    }
#define TYPED(NAME, TYPE) \
    TEST(NAME, TYPE, shmem_##NAME##_broadcast, shmem_##NAME##_collect, shmem_##NAME##_fcollect, \
         shmem_##NAME##_alltoall, shmem_##NAME##_alltoalls)
RMA_TYPES(TYPED)
TEST(mem, unsigned char, shmem_broadcastmem, shmem_collectmem, shmem_fcollectmem, shmem_alltoallmem,
     shmem_alltoallsmem)

/* Sizes in bytes, with guards around what is written. */
static void sizes(void) {
    static const size_t all[] = {0, 1, 17, 1000, 4096, 65537, 300000};
    size_t most = 300000;
    unsigned char *source = shmem_malloc(most * (size_t)npes + 16);
    unsigned char *target = shmem_malloc(most * (size_t)npes + 16);
    for (int s = 0; s < 7; s++) {
        size_t bytes = all[s], total = bytes * (size_t)npes;
        for (size_t i = 0; i < total; i++) {
            source[i] = (unsigned char)((size_t)me * 31 + i * 7 + i / 251);
        }
        for (int what = 0; what < 4; what++) {
            memset(target, 0xbd, total + 16);
            shmem_sync_all();
            size_t length = total, wrong = 0;
            int root = (s + 1) % npes;
            if (what == 0) {
                CHECK(shmem_broadcastmem(SHMEM_TEAM_WORLD, target, source, bytes, root) == 0);
                length = bytes;
            } else if (what == 1) {
                /* All of one length but the last, who gives half of it. */
                size_t half = bytes / 2;
                CHECK(shmem_collectmem(SHMEM_TEAM_WORLD, target, source, me == npes - 1 ? half : bytes) == 0);
                length = total - bytes + half;
            } else if (what == 2) {
                CHECK(shmem_fcollectmem(SHMEM_TEAM_WORLD, target, source, bytes) == 0);
            } else {
                CHECK(shmem_alltoallmem(SHMEM_TEAM_WORLD, target, source, bytes) == 0);
            }
            for (size_t i = 0; i < length; i++) {
                size_t from = what == 0 ? (size_t)root : i / bytes;
                size_t place = what == 3 ? (size_t)me * bytes + i % bytes : bytes ? i % bytes : 0;
                wrong += target[i] != (unsigned char)(from * 31 + place * 7 + place / 251);
            }
            CHECKF(wrong == 0, "%zu of %zu, kind %d of %zu bytes", wrong, length, what, bytes);
            CHECK(target[length] == 0xbd);
            shmem_sync_all();
        }
    }
    shmem_free(target);
    shmem_free(source);
}

/* Where nobody gives anything, no address is looked at. */
static void nothing(void) {
    static long psync[SHMEM_COLLECT_SYNC_SIZE];
    CHECK(shmem_broadcastmem(SHMEM_TEAM_WORLD, NULL, NULL, 0, 0) == 0);
    CHECK(shmem_collectmem(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
    CHECK(shmem_long_collect(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
    CHECK(shmem_fcollectmem(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
    CHECK(shmem_alltoallmem(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
    CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, NULL, NULL, 0) == 0);
    shmem_collect64(NULL, NULL, 0, 0, 0, npes, psync);
    if (me > 0) {
        shmem_collect32(NULL, NULL, 0, 1, 0, npes - 1, psync);
    }
    shmem_barrier_all();
}

int main(void) {
    test_begin();
    nothing();
    /* Those from PE 1 on, which is nobody where there is one PE. */
    shmem_team_t part = SHMEM_TEAM_INVALID;
    if (npes > 1) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes - 1, NULL, 0, &part) == 0);
    }
#define CALL(NAME, TYPE) test_##NAME(part);
    RMA_TYPES(CALL)
    test_mem(part);
    sizes();
    shmem_team_destroy(part);
    return test_end("collectives");
}
