/* The graph of search.c and of ../device/gpu_search.cu: its edges, where chunks lie, and a serial search. */
#ifndef SEARCH_H
#define SEARCH_H

#include "modes.h"

struct search {
    long vertices, degree, seed, own; /* own: places for this PE's vertices */
    int me, pes, groups;              /* groups: workgroups, or blocks of a kernel */
    uint32_t *distance;               /* of own vertices, by v / pes; ~0: not found */
    uint32_t *sent;                   /* by vertex: sent to its PE in this search */
    uint32_t *found[2], *many;        /* own vertices by level, in turns, and how many */
    uint32_t *count;                  /* by PE and group: vertices of `out` */
    uint32_t *out, *in;               /* symmetric: chunks by PE and group */
    uint64_t *come;                   /* symmetric: by PE and group, the step and how many (gio_said) */
    uint64_t *told, *total;           /* symmetric: by turn and PE: the step, and how many were found */
    long *sums;                       /* symmetric: of this PE and of all */
    unsigned *meeting;                /* of the device, and pinned: what all PEs found, and the next step */
    uint64_t *sum;
};

#define SEARCH_OPTIONS(s)                                                                                       \
    {"--vertices", GIO_LONG, &(s).vertices, 1, 100000000}, {"--degree", GIO_LONG, &(s).degree, 1, 1000},        \
        {"--seed", GIO_LONG, &(s).seed, 0, 1000000000}

/* Neighbour k of v. Half of them are near, so that there are many levels. */
GIO_FN long search_neighbour(const struct search *s, long v, long k) {
    uint64_t h = gio_mixed((uint64_t)s->seed * 1000003u + (uint64_t)(v * s->degree + k));
    if (k % 2 == 0) return (v + 1 + (long)(h % 7)) % s->vertices;
    return h % 8 != 0 ? (v + s->vertices - 1 - (long)(h / 8 % 5)) % s->vertices
                      : (long)(h / 8 % (uint64_t)s->vertices);
}
GIO_FN uint32_t *search_part(const struct search *s, uint32_t *chunks, int pe, int w) {
    return chunks + (size_t)(pe * s->groups + w) * (size_t)s->own;
}
/* The k-th search begins here. */
static inline long search_root(const struct search *s, long k) {
    return (long)(gio_mixed((uint64_t)(s->seed + k)) % (uint64_t)s->vertices);
}

/* After gio_init: sizes and symmetric memory. */
static inline size_t search_begin(struct search *s) {
    s->me = gio_me;
    s->pes = gio_pes;
    s->own = (s->vertices + s->pes - 1) / s->pes;
    size_t chunks = (size_t)(s->pes * s->groups);
    s->out = (uint32_t *)gio_symmetric(chunks * (size_t)s->own * sizeof(uint32_t));
    s->in = (uint32_t *)gio_symmetric(chunks * (size_t)s->own * sizeof(uint32_t));
    s->come = (uint64_t *)gio_symmetric(chunks * sizeof(uint64_t));
    s->told = (uint64_t *)gio_symmetric(2 * (size_t)s->pes * sizeof(uint64_t));
    s->total = (uint64_t *)gio_symmetric(2 * (size_t)s->pes * sizeof(uint64_t));
    s->sums = (long *)gio_symmetric(2 * sizeof(long));
    return chunks;
}

/* The host sends the chunks for a PE, and waits for those that come. */
static inline void search_send(const struct search *s, const uint32_t *count, int pe, uint64_t now) {
    for (int w = 0; w < s->groups; w++) {
        size_t n = count[pe * s->groups + w];
        shmem_putmem_signal_nbi(search_part(s, s->in, s->me, w), search_part(s, s->out, pe, w), n * sizeof(uint32_t),
                                &s->come[s->me * s->groups + w], gio_said(now, n), SHMEM_SIGNAL_SET, pe);
    }
}
static inline void search_await(const struct search *s, uint64_t now) {
    for (int pe = 0; pe < s->pes; pe++)
        for (int w = 0; w < s->groups && pe != s->me; w++)
            shmem_signal_wait_until(&s->come[pe * s->groups + w], SHMEM_CMP_GE, gio_said(now, 0));
}
/* How many vertices all PEs found. */
static inline long search_sum(const struct search *s, long mine) {
    s->sums[0] = mine;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &s->sums[1], &s->sums[0], 1);
    return s->sums[1];
}

/* True if the distances of own vertices are those of a serial search. */
static inline int search_is_right(const struct search *s, long root, const uint32_t *own) {
    size_t all = (size_t)s->vertices;
    uint32_t *distance = (uint32_t *)gio_memory(2 * all * sizeof(uint32_t)), *queue = distance + all;
    long head = 0, tail = 1;
    int right = 1;
    memset(distance, 0xff, all * sizeof(uint32_t));
    distance[root] = 0;
    queue[0] = (uint32_t)root;
    while (head < tail) {
        long v = queue[head++];
        for (long k = 0; k < s->degree; k++) {
            long u = search_neighbour(s, v, k);
            if (distance[u] != ~0u) continue;
            distance[u] = distance[v] + 1;
            queue[tail++] = (uint32_t)u;
        }
    }
    for (long i = 0; i * s->pes + s->me < s->vertices; i++) right &= own[i] == distance[i * s->pes + s->me];
    free(distance);
    return right;
}

#endif
