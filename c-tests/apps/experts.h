/* The layer of experts of experts.c and of ../device/gpu_experts.cu: who has which expert, what experts make of tokens,
 * where chunks lie, and a serial run. */
#ifndef EXPERTS_H
#define EXPERTS_H

#include "modes.h"

struct layer {
    long tokens, experts, top, width, rounds;
    int me, pes, groups; /* groups: workgroups, or blocks of a kernel */
    size_t row, chunk;   /* doubles: of a row (expert, then numbers), and of a chunk */
    double *x;           /* tokens: this PE's, and what becomes of them */
    double *out, *in;    /* symmetric: chunks by PE and group: tokens on their way, and those that came */
    double *made, *back; /* symmetric: answers here, which may be `in`, and those that came, in the order of `out` */
    uint64_t *come, *answered; /* symmetric: the round and how many rows (gio_said) */
    long *count;               /* by PE and group: rows of `out` */
    long *place;               /* of the device: a token's row in its chunk */
};

#define EXPERTS_OPTIONS(l)                                                                                \
    {"--tokens", GIO_LONG, &(l).tokens, 1, 1000000}, {"--width", GIO_LONG, &(l).width, 1, 16384},         \
        {"--experts", GIO_LONG, &(l).experts, 1, 1024}, {"--top", GIO_LONG, &(l).top, 1, 4},              \
        {"--rounds", GIO_LONG, &(l).rounds, 1, 1000000}

/* The k-th expert of a token: all different, and never the same in two rounds. */
GIO_FN long layer_gate(const struct layer *l, int pe, long token, long round, long k) {
    uint64_t all = (uint64_t)(l->experts * l->pes), top = (uint64_t)l->top;
    uint64_t h = gio_mixed((uint64_t)((pe * l->tokens + token) * l->rounds + round));
    return (long)((h + (uint64_t)k * (1 + (h >> 40) % (all > top ? all / top : 1))) % all);
}
/* Number j of what expert e makes of a row: numbers stay below 64. */
GIO_FN double layer_made(long e, const double *from, long j, long width) {
    long v = (long)from[j] * (1 + (e + j) % 5) + (long)from[(j + 1) % width] * (1 + e % 3);
    return (double)(v % 64);
}
/* A token's number with the k-th answer, in the order of its experts; after the last one a whole number again. */
GIO_FN double layer_combined(const struct layer *l, double sum, double answer, long k) {
    sum = (k == 0 ? 0 : sum) + answer / (double)(1 << k);
    return k + 1 == l->top ? (double)((long)(sum * 8) % 64) : sum;
}
GIO_FN double *layer_part(const struct layer *l, double *chunks, int pe, int w) {
    return chunks + (size_t)(pe * l->groups + w) * l->chunk;
}
GIO_FN size_t layer_bytes(const struct layer *l, long rows) { return (size_t)rows * l->row * sizeof(double); }
GIO_FN uint64_t layer_said(long round, long rows) { return gio_said((uint64_t)round + 1, (uint64_t)rows); }
GIO_FN long layer_first_token(const struct layer *l, int w) { return l->tokens * w / l->groups; }

/* After gio_init: sizes, and symmetric memory but for `made`. */
static inline size_t layer_begin(struct layer *l) {
    l->me = gio_me;
    l->pes = gio_pes;
    if (l->top > l->experts * l->pes)
        gio_die("--top %ld: not usable (expected at most the number of experts, %ld)", l->top, l->experts * l->pes);
    size_t chunks = (size_t)(l->pes * l->groups);
    l->row = 1 + (size_t)l->width;
    l->chunk = (size_t)((l->tokens + l->groups - 1) / l->groups * l->top) * l->row;
    l->out = (double *)gio_symmetric(chunks * l->chunk * sizeof(double));
    l->in = (double *)gio_symmetric(chunks * l->chunk * sizeof(double));
    l->back = (double *)gio_symmetric(chunks * l->chunk * sizeof(double));
    l->come = (uint64_t *)gio_symmetric(chunks * sizeof(uint64_t));
    l->answered = (uint64_t *)gio_symmetric(chunks * sizeof(uint64_t));
    return chunks;
}
/* Before a run: the first tokens. */
static inline void layer_start(const struct layer *l, double *x) {
    size_t chunks = (size_t)(l->pes * l->groups);
    for (long i = 0; i < l->tokens * l->width; i++)
        x[i] = (double)(gio_mixed((uint64_t)(l->me * l->tokens * l->width + i)) % 64);
    memset(l->come, 0, chunks * sizeof(uint64_t));
    memset(l->answered, 0, chunks * sizeof(uint64_t));
}

/* The host sends all chunks of one step. */
static inline void layer_exchange(const struct layer *l, double *to, double *from, uint64_t *signals, const long *rows,
                                  long round) {
    for (int i = 0; i < l->pes; i++)
        for (int w = 0, pe = (l->me + i) % l->pes; w < l->groups; w++) {
            long n = rows[pe * l->groups + w];
            shmem_putmem_signal_nbi(layer_part(l, to, l->me, w), layer_part(l, from, pe, w), layer_bytes(l, n),
                                    &signals[l->me * l->groups + w], layer_said(round, n), SHMEM_SIGNAL_SET, pe);
        }
}
/* It waits for the chunk at `at` (by PE and group), and says how many rows there are. */
static inline long layer_await(uint64_t *signals, int at, long round) {
    shmem_signal_wait_until(&signals[at], SHMEM_CMP_GE, layer_said(round, 0));
    return (long)gio_many(&signals[at]);
}

/* This PE's tokens after a serial run. */
static inline double *layer_serial(const struct layer *l) {
    double *x = (double *)gio_memory((size_t)(l->tokens * l->width) * sizeof(double));
    double *before = (double *)gio_memory((size_t)l->width * sizeof(double));
    layer_start(l, x);
    for (long t = 0; t < l->tokens; t++)
        for (long round = 0; round < l->rounds; round++) {
            double *row = x + t * l->width;
            memcpy(before, row, (size_t)l->width * sizeof(double));
            for (long j = 0; j < l->width; j++)
                for (long k = 0; k < l->top; k++)
                    row[j] = layer_combined(l, row[j],
                                            layer_made(layer_gate(l, l->me, t, round, k), before, j, l->width), k);
        }
    free(before);
    return x;
}

#endif
