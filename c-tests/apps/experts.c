/* A layer of experts spread over PEs, as mixture-of-experts models have it: dispatch and combine, two all-to-alls.
 *
 *     oshrun -n PES experts [--mode gio|ikn|interk|overlap|all] [--tokens N] [--width D] [--experts E] [--top K]
 *                           [--rounds R] [--threads T] [--launch US]
 *
 * Each PE has N tokens of D numbers and E experts. A token's gate names K experts of all PEs. Dispatch sends the token
 * to them, combine brings back what they made of it, and the token becomes the weighted sum.
 *
 * gio and ikn: one kernel for all rounds. A workgroup gathers its tokens by PE and sends each PE one chunk with a
 * signal that says how many there are. Then it works on the chunks of its own number from every PE as they come, and
 * sends each back in the same way; then it sums up its tokens. No barrier: a chunk's place is written again only after
 * its answer has come, and the answer's place only after it was used. interk: a kernel for each of the three steps, and
 * the main thread sends chunks between them; overlap: the same, a PE's own chunks being worked on while others travel.
 *
 * All numbers are small whole ones and weights are powers of two, so that sums are exact in any order; the result is
 * compared with a serial one. Standard output: the result; times go to standard error. Status 0: right; 1: not; 2: bad
 * use. */
#include "experts.h"
#include "gio.h"

/* Workgroup w's tokens into its chunks. */
static void gather(struct layer *l, int w, long round) {
    for (int pe = 0; pe < l->pes; pe++) l->count[pe * l->groups + w] = 0;
    for (long t = layer_first_token(l, w); t < layer_first_token(l, w + 1); t++)
        for (long k = 0; k < l->top; k++) {
            long e = layer_gate(l, l->me, t, round, k);
            int pe = (int)(e / l->experts);
            double *row = layer_part(l, l->out, pe, w) + (size_t)l->count[pe * l->groups + w]++ * l->row;
            row[0] = (double)e;
            memcpy(row + 1, l->x + (size_t)t * (size_t)l->width, (size_t)l->width * sizeof *row);
        }
}

/* The rows of a chunk that came, in place. */
static void work(const struct layer *l, int pe, int w, long rows) {
    double made[l->width];
    for (long i = 0; i < rows; i++) {
        double *row = layer_part(l, l->in, pe, w) + (size_t)i * l->row;
        for (long j = 0; j < l->width; j++) made[j] = layer_made((long)row[0], row + 1, j, l->width);
        memcpy(row + 1, made, sizeof made);
    }
}

/* Workgroup w's tokens from their answers, which lie as `gather` laid the tokens. */
static void sum_up(struct layer *l, int w, long round) {
    long next[l->pes];
    memset(next, 0, sizeof next);
    for (long t = layer_first_token(l, w); t < layer_first_token(l, w + 1); t++)
        for (long k = 0; k < l->top; k++) {
            int pe = (int)(layer_gate(l, l->me, t, round, k) / l->experts);
            double *x = l->x + t * l->width, *answer = layer_part(l, l->back, pe, w) + (size_t)next[pe]++ * l->row + 1;
            for (long j = 0; j < l->width; j++) x[j] = layer_combined(l, x[j], answer[j], k);
        }
}

static void rounds_inside(struct gio *o, struct layer *l) {
    gio_launch(o);
#pragma omp parallel num_threads(l->groups)
    {
        int w = omp_get_thread_num();
        for (long round = 0; round < l->rounds; round++) {
            gather(l, w, round);
            for (int i = 0; i < l->pes; i++) {
                int pe = (l->me + i) % l->pes; /* not all to the same one at first */
                long rows = l->count[pe * l->groups + w];
                gio_put_signal(o, w, pe, layer_part(l, l->in, l->me, w), layer_part(l, l->out, pe, w),
                               layer_bytes(l, rows), &l->come[l->me * l->groups + w], layer_said(round, rows));
                gio_ring(o, w);
            }
            for (int i = 0; i < l->pes; i++) {
                int pe = (l->me + i) % l->pes;
                uint64_t *word = &l->come[pe * l->groups + w];
                hetmp_wait_until(word, SHMEM_CMP_GE, layer_said(round, 0));
                long rows = (long)gio_many(word);
                work(l, pe, w, rows);
                gio_put_signal(o, w, pe, layer_part(l, l->back, l->me, w), layer_part(l, l->in, pe, w),
                               layer_bytes(l, rows), &l->answered[l->me * l->groups + w], layer_said(round, rows));
                gio_ring(o, w);
            }
            for (int pe = 0; pe < l->pes; pe++)
                hetmp_wait_until(&l->answered[pe * l->groups + w], SHMEM_CMP_GE, layer_said(round, 0));
            sum_up(l, w, round);
            gio_quiet(o, w); /* answers have left: their places are written by the next round's tokens */
        }
    }
}

/* A kernel that works on the chunks of some PEs. */
static void work_kernel(struct gio *o, struct layer *l, long *rows, int first, int many, long round) {
    gio_launch(o);
    for (int i = 0; i < many * l->groups; i++) {
        int at = (first + i / l->groups) % l->pes * l->groups + i % l->groups;
        rows[at] = layer_await(l->come, at, round);
    }
#pragma omp parallel num_threads(l->groups)
    for (int i = 0; i < many; i++) {
        int w = omp_get_thread_num(), pe = (first + i) % l->pes;
        work(l, pe, w, rows[pe * l->groups + w]);
    }
}

static void rounds_outside(struct gio *o, struct layer *l) {
    long rows[l->pes * l->groups];
    for (long round = 0; round < l->rounds; round++) {
        gio_launch(o);
#pragma omp parallel num_threads(l->groups)
        gather(l, omp_get_thread_num(), round);
        layer_exchange(l, l->in, l->out, l->come, l->count, round);
        if (o->mode == OVERLAP) {
            work_kernel(o, l, rows, l->me, 1, round);
            if (l->pes > 1) work_kernel(o, l, rows, l->me + 1, l->pes - 1, round);
        } else {
            shmem_quiet();
            work_kernel(o, l, rows, 0, l->pes, round);
        }
        layer_exchange(l, l->back, l->in, l->answered, rows, round);
        for (int at = 0; at < l->pes * l->groups; at++) layer_await(l->answered, at, round);
        gio_launch(o);
#pragma omp parallel num_threads(l->groups)
        sum_up(l, omp_get_thread_num(), round);
        shmem_quiet();
    }
}

int main(int argc, char **argv) {
    int mode = GIO_MODES, right = 1;
    struct layer l = {.tokens = 64, .experts = 4, .top = 2, .width = 64, .rounds = 10, .groups = omp_get_max_threads()};
    struct gio o = {.launch = 0};
    GIO_OPTIONS(argc, argv, {"--mode", GIO_MODE, &mode, 0, OVERLAP}, EXPERTS_OPTIONS(l),
                {"--threads", GIO_INT, &l.groups, 1, 1024}, {"--launch", GIO_REAL, &o.launch, 0, 10000});
    o.launch *= 1e-6;
    omp_set_dynamic(0);
    gio_init();
    l.count = gio_memory(layer_begin(&l) * sizeof *l.count);
    size_t bytes = (size_t)(l.tokens * l.width) * sizeof *l.x;
    l.x = gio_memory(bytes);
    double *serial = layer_serial(&l);
    if (l.me == 0)
        printf("experts %ld tokens of %ld to %ld of %ld experts on %d PEs, %ld rounds\n", l.tokens * l.pes, l.width,
               l.top, l.experts * l.pes, l.pes, l.rounds);
    enum gio_mode m;
    for (int turn = 0; right && gio_nth(mode, turn, &m); turn++) {
        layer_start(&l, l.x);
        gio_open(&o, m, l.groups, 64);
        shmem_barrier_all();
        double began = gio_now();
        if (m == GIO || m == IKN) rounds_inside(&o, &l);
        else rounds_outside(&o, &l);
        shmem_barrier_all();
        double seconds = gio_now() - began;
        gio_close(&o);
        if (turn > 0) right = gio_result(&o, "experts", memcmp(l.x, serial, bytes) == 0, seconds);
    }
    shmem_finalize();
    return !right;
}
