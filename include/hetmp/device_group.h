/* Barriers and collectives of a team inside of a kernel (part of hetmp/device.h; include that file).
 *
 *     void *work = shmem_malloc(hetmp_group_bytes(n, 4096));          // symmetric; the same on all members
 *     hetmp_device_group g;
 *     hetmp_group_open(team, work, hetmp_group_bytes(n, 4096), &g);   // on the host, collective over the team
 *     ... in the kernel, by one workgroup of each member:
 *     hetmp_group_barrier(q, &g);                                     // q was opened for the same team
 *     hetmp_group_reduce(q, &g, &most, &mine, 1, HETMP_TYPE_DOUBLE, HETMP_OP_MAX);
 *
 * One initiator of each member takes part: a thread, or the leader of a workgroup whose threads all call the _wg form.
 * All members call the same functions of a group in the same order. Workgroups of one member meet by what their device
 * has for that; several groups (each with work memory of its own) serve several workgroups side by side.
 *
 * How they work: the barrier is a dissemination, ceil(log2 n) signals from each member. The others put data with a
 * signal that counts arrivals, and end with such a dissemination. So when a collective returns, all members have their
 * data, all sources may be changed, and the next collective may use the same arrays. Broadcast goes down a binomial
 * tree; fcollect, alltoall and reduce send from each member to each. Reductions add in the order of the members, so
 * that all get the same bits.
 *
 * Errors: a negative HETMP_DEVICE_ constant for arguments, and nothing was sent: the other members then wait. End the
 * job (shmem_global_exit). HETMP_DEVICE_OTHER_TEAM: the queue is of another team. HETMP_DEVICE_BAD_TEAM: `team` is
 * none.
 */
#ifndef HETMP_DEVICE_GROUP_H
#define HETMP_DEVICE_GROUP_H
#ifndef HETMP_DEVICE_H
#error "include <hetmp/device.h>"
#endif

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types and operations of hetmp_group_reduce. AND, OR and XOR are for the integers. */
enum {
    HETMP_TYPE_INT32 = 0,
    HETMP_TYPE_UINT32 = 1,
    HETMP_TYPE_INT64 = 2,
    HETMP_TYPE_UINT64 = 3,
    HETMP_TYPE_FLOAT = 4,
    HETMP_TYPE_DOUBLE = 5
};
enum {
    HETMP_OP_SUM = 0,
    HETMP_OP_PROD = 1,
    HETMP_OP_MIN = 2,
    HETMP_OP_MAX = 3,
    HETMP_OP_AND = 4,
    HETMP_OP_OR = 5,
    HETMP_OP_XOR = 6
};

typedef struct hetmp_device_group {
    /* symmetric: signals that came, a word for each round of the barrier, and the last one for data */
    uint64_t *arrived;
    char *room;        /* symmetric: `block` bytes for each member */
    uint64_t block;
    uint64_t turns;  /* barriers that this member has begun */
    uint64_t pieces; /* pieces of data that this member has waited for */
    uint32_t me, pes;
} hetmp_device_group;

#define HETMP_GROUP_DATA 39 /* the word that counts data; those before it are for up to 32 rounds */
#define HETMP_GROUP_HEAD ((HETMP_GROUP_DATA + 1) * 8)

/* Bytes of work memory for a team of `pes`, with `block` bytes of each member under way in a reduction. Longer
 * reductions take several turns; without reductions 0 will do. */
HETMP_DEVICE_FN size_t hetmp_group_bytes(int pes, size_t block) {
    return HETMP_GROUP_HEAD + (size_t)pes * ((block + 7) & ~(size_t)7);
}

/* On the host, collective over the team: prepares a group in `bytes` of symmetric memory at `work` (8-byte aligned, at
 * least hetmp_group_bytes(n, 0)). The memory belongs to the group until no member uses the group any more. Returns 0 or
 * a negative constant. */
static inline int hetmp_group_open(shmem_team_t team, void *work, size_t bytes, hetmp_device_group *group) {
    int pes;
    if (!group) return HETMP_DEVICE_BAD_VALUE;
    memset(group, 0, sizeof *group);
    if (team == SHMEM_TEAM_INVALID) return HETMP_DEVICE_BAD_TEAM;
    pes = shmem_team_n_pes(team);
    if (((uintptr_t)work & 7) != 0) return HETMP_DEVICE_MISALIGNED;
    if (bytes < HETMP_GROUP_HEAD) return HETMP_DEVICE_NO_ROOM;
    if (!work || !shmem_addr_accessible(work, shmem_my_pe())) return HETMP_DEVICE_BAD_ADDRESS;
    memset(work, 0, HETMP_GROUP_HEAD);
    if (shmem_team_sync(team) != 0) return HETMP_DEVICE_BAD_TEAM;
    group->arrived = (uint64_t *)work;
    group->room = (char *)work + HETMP_GROUP_HEAD;
    group->block = ((uint64_t)bytes - HETMP_GROUP_HEAD) / (uint64_t)pes & ~(uint64_t)7;
    group->me = (uint32_t)shmem_team_my_pe(team);
    group->pes = (uint32_t)pes;
    return HETMP_DEVICE_OK;
}

/* Sends `bytes`, or nothing, and counts at the target's `word`. Not a flag of the program: the checker is not to judge
   it. */
HETMP_DEVICE_FN int hetmp_group_send(hetmp_device_queue *q, uint32_t to, void *dest, const void *source, size_t bytes,
                                     uint64_t *word) {
    int bad = hetmp_put_signal_op(q, (int)to, dest, source, bytes, word, 1, SHMEM_SIGNAL_ADD);
    if (!bad && q->sites) hetmp_word_set(q->sites + ((q->staged - 1) & q->mask), HETMP_D_UNCHECKED);
    return bad;
}

/* Why the queue does not serve the group. */
HETMP_DEVICE_FN int hetmp_group_stranger(const hetmp_device_queue *q) {
    return q->pes ? HETMP_DEVICE_OTHER_TEAM : HETMP_DEVICE_BAD_QUEUE;
}

/* All members have come. Says nothing about their operations. */
HETMP_DEVICE_FN int hetmp_group_sync(hetmp_device_queue *q, hetmp_device_group *g) {
    uint64_t distance;
    uint32_t round = 0;
    if (q->pes != g->pes || q->pes == 0) return hetmp_group_stranger(q);
    g->turns++;
    for (distance = 1; distance < g->pes; distance <<= 1, round++) {
        int bad = hetmp_group_send(q, (uint32_t)((g->me + distance) % g->pes), NULL, NULL, 0, g->arrived + round);
        if (bad) return bad;
        hetmp_ring(q);
        hetmp_wait_until(g->arrived + round, SHMEM_CMP_GE, g->turns);
    }
    return HETMP_DEVICE_OK;
}

/* What the members have posted to these queues is done, and all members have come. Returns the status of hetmp_quiet.
   */
HETMP_DEVICE_FN int hetmp_group_barrier(hetmp_device_queue *q, hetmp_device_group *g) {
    int status, bad;
    if (q->pes != g->pes || q->pes == 0) return hetmp_group_stranger(q);
    status = hetmp_quiet(q);
    bad = hetmp_group_sync(q, g);
    return bad ? bad : status;
}

/* Waits for `more` pieces of data. */
HETMP_DEVICE_FN void hetmp_group_await(hetmp_device_group *g, uint64_t more) {
    g->pieces += more;
    if (more) hetmp_wait_until(g->arrived + HETMP_GROUP_DATA, SHMEM_CMP_GE, g->pieces);
}

HETMP_DEVICE_FN void hetmp_group_copy(void *dest, const void *source, size_t bytes) {
    if (dest == source || bytes == 0) return;
#if defined(HETMP_DEVICE_PASS)
    {
        size_t i;
        for (i = 0; i < bytes; i++) ((char *)dest)[i] = ((const char *)source)[i];
    }
#else
    memcpy(dest, source, bytes);
#endif
}

/* 0 if the symmetric array can take part, else the error. */
HETMP_DEVICE_FN int hetmp_group_checks(const hetmp_device_queue *q, const hetmp_device_group *g, const void *dest,
                                       uint64_t bytes, uint64_t piece) {
    if (q->pes != g->pes || q->pes == 0) return hetmp_group_stranger(q);
    if (piece > HETMP_D_LONGEST) return HETMP_DEVICE_TOO_LONG;
    if (bytes != 0 && hetmp_device_place(q, dest, bytes) == ~(uint64_t)0) return HETMP_DEVICE_BAD_ADDRESS;
    return HETMP_DEVICE_OK;
}

/* Copies `bytes` (at most 1 GiB) from `source` of member `root` to the symmetric `dest` of all, its own included. */
HETMP_DEVICE_FN int hetmp_group_broadcast(hetmp_device_queue *q, hetmp_device_group *g, void *dest, const void *source,
                                          size_t bytes, int root) {
    uint64_t rank, step;
    int bad = hetmp_group_checks(q, g, dest, bytes, bytes);
    if (bad) return bad;
    if ((uint32_t)root >= g->pes) return HETMP_DEVICE_BAD_PE;
    rank = ((uint64_t)g->me + g->pes - (uint32_t)root) % g->pes;
    if (rank == 0) hetmp_group_copy(dest, source, bytes);
    else hetmp_group_await(g, 1);
    for (step = 1; step < g->pes; step <<= 1) {
        if (rank >= step || rank + step >= g->pes) continue;
        bad = hetmp_group_send(q, (uint32_t)((rank + step + (uint32_t)root) % g->pes), dest, dest, bytes,
                               g->arrived + HETMP_GROUP_DATA);
        if (bad) return bad;
    }
    return hetmp_group_sync(q, g);
}

/* Sends block (`each` ? t : 0) of `source` to every member t, to block `me` of its `dest`. */
HETMP_DEVICE_FN int hetmp_group_exchange(hetmp_device_queue *q, hetmp_device_group *g, char *dest, const char *source,
                                         size_t bytes, int each) {
    uint32_t i;
    for (i = 1; i < g->pes; i++) {
        uint32_t to = (uint32_t)(((uint64_t)g->me + i) % g->pes);
        int bad = hetmp_group_send(q, to, dest + (size_t)g->me * bytes, each ? source + (size_t)to * bytes : source,
                                   bytes, g->arrived + HETMP_GROUP_DATA);
        if (bad) return bad;
    }
    hetmp_ring(q);
    hetmp_group_copy(dest + (size_t)g->me * bytes, each ? source + (size_t)g->me * bytes : source, bytes);
    hetmp_group_await(g, g->pes - 1);
    return HETMP_DEVICE_OK;
}

/* Puts the `bytes` (at most 1 GiB) at `source` of every member t into block t of the symmetric `dest` of all. */
HETMP_DEVICE_FN int hetmp_group_fcollect(hetmp_device_queue *q, hetmp_device_group *g, void *dest, const void *source,
                                         size_t bytes) {
    int bad = hetmp_group_checks(q, g, dest, (uint64_t)bytes * g->pes, bytes);
    if (!bad) bad = hetmp_group_exchange(q, g, (char *)dest, (const char *)source, bytes, 0);
    return bad ? bad : hetmp_group_sync(q, g);
}

/* Puts block t (`bytes` long, at most 1 GiB) of `source` of every member s into block s of the symmetric `dest` of
 * member t. The two arrays do not overlap. */
HETMP_DEVICE_FN int hetmp_group_alltoall(hetmp_device_queue *q, hetmp_device_group *g, void *dest, const void *source,
                                         size_t bytes) {
    int bad = hetmp_group_checks(q, g, dest, (uint64_t)bytes * g->pes, bytes);
    if (!bad) bad = hetmp_group_exchange(q, g, (char *)dest, (const char *)source, bytes, 1);
    return bad ? bad : hetmp_group_sync(q, g);
}

#define HETMP_GROUP_FOLD_(type, add, multiply)                                     \
    {                                                                              \
        type a, b;                                                                 \
        hetmp_group_copy(&a, into, sizeof a);                                      \
        hetmp_group_copy(&b, from, sizeof b);                                      \
        if (op == HETMP_OP_SUM) a = (type)(add);                                   \
        else if (op == HETMP_OP_PROD) a = (type)(multiply);                        \
        else if (op == HETMP_OP_MIN) a = b < a ? b : a;                            \
        else if (op == HETMP_OP_MAX) a = b > a ? b : a;                            \
        hetmp_group_copy(into, &a, sizeof a);                                      \
    }                                                                              \
    break

/* *into = *into op *from. Sums and products of integers wrap around. */
HETMP_DEVICE_FN void hetmp_group_fold(void *into, const void *from, int type, int op) {
    size_t width = type == HETMP_TYPE_INT32 || type == HETMP_TYPE_UINT32 || type == HETMP_TYPE_FLOAT ? 4 : 8;
    if (op >= HETMP_OP_AND) {
        unsigned char *a = (unsigned char *)into;
        const unsigned char *b = (const unsigned char *)from;
        size_t i;
        for (i = 0; i < width; i++)
            a[i] = (unsigned char)(op == HETMP_OP_AND ? a[i] & b[i] : op == HETMP_OP_OR ? a[i] | b[i] : a[i] ^ b[i]);
        return;
    }
    switch (type) {
    case HETMP_TYPE_INT32: HETMP_GROUP_FOLD_(int32_t, (uint32_t)a + (uint32_t)b, (uint32_t)a * (uint32_t)b);
    case HETMP_TYPE_UINT32: HETMP_GROUP_FOLD_(uint32_t, a + b, a * b);
    case HETMP_TYPE_INT64: HETMP_GROUP_FOLD_(int64_t, (uint64_t)a + (uint64_t)b, (uint64_t)a * (uint64_t)b);
    case HETMP_TYPE_UINT64: HETMP_GROUP_FOLD_(uint64_t, a + b, a * b);
    case HETMP_TYPE_FLOAT: HETMP_GROUP_FOLD_(float, a + b, a * b);
    default: HETMP_GROUP_FOLD_(double, a + b, a * b);
    }
}
#undef HETMP_GROUP_FOLD_

/* Combines the `count` elements at `source` of all members, element by element, into `dest` of all. Both are any memory
 * of the member, and may be the same. HETMP_DEVICE_NO_ROOM: the group was opened without room for reductions. */
HETMP_DEVICE_FN int hetmp_group_reduce(hetmp_device_queue *q, hetmp_device_group *g, void *dest, const void *source,
                                       size_t count, int type, int op) {
    size_t width = type == HETMP_TYPE_INT32 || type == HETMP_TYPE_UINT32 || type == HETMP_TYPE_FLOAT ? 4 : 8;
    size_t fits = (size_t)(g->block / width), at, i;
    char *mine = g->room + g->me * g->block;
    uint32_t pe;
    if (q->pes != g->pes || q->pes == 0) return hetmp_group_stranger(q);
    if (type < HETMP_TYPE_INT32 || type > HETMP_TYPE_DOUBLE) return HETMP_DEVICE_BAD_TYPE;
    if (op < HETMP_OP_SUM || op > HETMP_OP_XOR || (op >= HETMP_OP_AND && type >= HETMP_TYPE_FLOAT))
        return HETMP_DEVICE_BAD_OPERATION;
    if (fits == 0) return HETMP_DEVICE_NO_ROOM;
    if (fits > HETMP_D_LONGEST / width) fits = HETMP_D_LONGEST / width;
    for (at = 0; at < count; at += fits) {
        size_t now = count - at < fits ? count - at : fits;
        int bad;
        hetmp_group_copy(mine, (const char *)source + at * width, now * width);
        for (i = 1; i < g->pes; i++) {
            bad = hetmp_group_send(q, (uint32_t)((g->me + i) % g->pes), mine, mine, now * width,
                                   g->arrived + HETMP_GROUP_DATA);
            if (bad) return bad;
        }
        hetmp_ring(q);
        hetmp_group_await(g, g->pes - 1);
        hetmp_group_copy((char *)dest + at * width, g->room, now * width);
        for (pe = 1; pe < g->pes; pe++)
            for (i = 0; i < now; i++)
                hetmp_group_fold((char *)dest + (at + i) * width, g->room + pe * g->block + i * width, type, op);
        /* The room is used again only after all members have read it. */
        bad = hetmp_group_sync(q, g);
        if (bad) return bad;
    }
    return HETMP_DEVICE_OK;
}

/* ---- Workgroup forms: see "Workgroups" in hetmp/device.h. */

#define HETMP_GROUP_WG_(call)                    \
    int status = HETMP_DEVICE_OK;                \
    hetmp_word_publish();                        \
    HETMP_WG_BARRIER();                          \
    if (HETMP_WG_LEADER()) status = call;        \
    HETMP_WG_BARRIER();                          \
    return status

HETMP_DEVICE_FN int hetmp_group_sync_wg(hetmp_device_queue *q, hetmp_device_group *g) {
    HETMP_GROUP_WG_(hetmp_group_sync(q, g));
}
HETMP_DEVICE_FN int hetmp_group_barrier_wg(hetmp_device_queue *q, hetmp_device_group *g) {
    HETMP_GROUP_WG_(hetmp_group_barrier(q, g));
}
HETMP_DEVICE_FN int hetmp_group_broadcast_wg(hetmp_device_queue *q, hetmp_device_group *g, void *dest,
                                             const void *source, size_t bytes, int root) {
    HETMP_GROUP_WG_(hetmp_group_broadcast(q, g, dest, source, bytes, root));
}
HETMP_DEVICE_FN int hetmp_group_fcollect_wg(hetmp_device_queue *q, hetmp_device_group *g, void *dest,
                                            const void *source, size_t bytes) {
    HETMP_GROUP_WG_(hetmp_group_fcollect(q, g, dest, source, bytes));
}
HETMP_DEVICE_FN int hetmp_group_alltoall_wg(hetmp_device_queue *q, hetmp_device_group *g, void *dest,
                                            const void *source, size_t bytes) {
    HETMP_GROUP_WG_(hetmp_group_alltoall(q, g, dest, source, bytes));
}
HETMP_DEVICE_FN int hetmp_group_reduce_wg(hetmp_device_queue *q, hetmp_device_group *g, void *dest, const void *source,
                                          size_t count, int type, int op) {
    HETMP_GROUP_WG_(hetmp_group_reduce(q, g, dest, source, count, type, op));
}
#undef HETMP_GROUP_WG_

#ifdef __cplusplus
}
#endif
#endif
