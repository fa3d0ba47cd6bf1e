/* Blocked matrix multiplication, C = A B, with three queues to each slave as in the paper: A and B bring it
 * blocks, two of each at a time so that one pair travels while the other is multiplied, and C takes a block of
 * the result back. The slave adds up the block of C in the message in which it will leave.
 *
 *     matmul [S|A] [queues|threads|condvar|dma] [SLAVES] [BLOCK]
 *
 * BLOCK is the size of a block: 32, or 64 where five such blocks fit into the local store. The
 * matrices hold small integers, so that the result is exact whatever the order of the additions. */
#include "hand.h"

#include <hetmp/simd.h>

struct job {
    const struct app *app;
    int n, block, per_side; /* of the matrices; of a block; blocks in a row */
    const double *a, *b;
    double *c;
    double *packed_a, *packed_b, *packed_c; /* dma: block by block */
};

/* c += a b, all of size n by n. Four rows and two vectors of columns at a time stay in registers. */
static void multiply(double *restrict c, const double *restrict a, const double *restrict b, int n) {
    for (int i = 0; i < n; i += 4)
        for (int j = 0; j < n; j += 2 * _VF64_SIZE) {
            _VF64 sum[4][2];
            for (int r = 0; r < 4; r++) {
                sum[r][0] = _VF64_LOAD(c + (i + r) * n + j);
                sum[r][1] = _VF64_LOAD(c + (i + r) * n + j + _VF64_SIZE);
            }
            for (int k = 0; k < n; k++) {
                const _VF64 b0 = _VF64_LOAD(b + k * n + j), b1 = _VF64_LOAD(b + k * n + j + _VF64_SIZE);
                for (int r = 0; r < 4; r++) {
                    const _VF64 x = _VF64_SET1(a[(i + r) * n + k]);
                    sum[r][0] = _VF64_MULADD(x, b0, sum[r][0]);
                    sum[r][1] = _VF64_MULADD(x, b1, sum[r][1]);
                }
            }
            for (int r = 0; r < 4; r++) {
                _VF64_STORE(c + (i + r) * n + j, sum[r][0]);
                _VF64_STORE(c + (i + r) * n + j + _VF64_SIZE, sum[r][1]);
            }
        }
}

/* Block (row, column) of a matrix into consecutive memory, and back. */
static void take(const struct job *job, double *to, const double *from, int row, int column) {
    for (int i = 0; i < job->block; i++)
        memcpy(to + i * job->block, from + ((size_t)row * job->block + i) * job->n + column * job->block,
               (size_t)job->block * sizeof(double));
}
static void put(const struct job *job, double *to, const double *from, int row, int column) {
    for (int i = 0; i < job->block; i++)
        memcpy(to + ((size_t)row * job->block + i) * job->n + column * job->block, from + i * job->block,
               (size_t)job->block * sizeof(double));
}

/* Block of C that slave s computes in a round, or -1 after the last. */
static int block_of(const struct job *job, int round, int s) {
    int t = round * job->app->slaves + s;
    return t < job->per_side * job->per_side ? t : -1;
}

/* ---- queues ---- */

static void queue_slave(void *unused) {
    int err, bytes;
    (void)unused;
    int qa = sGetQueueHandle("A", &err), qb = sGetQueueHandle("B", &err), qc = sGetQueueHandle("C", &err);
    app_check(err, "queue C");
    /* The first message of B says how large the blocks are and how many make one of C. */
    const int *shape = sRecvMsg(qb, &bytes, &err);
    app_check(err, "sRecvMsg");
    const int n = shape[0], steps = shape[1], blocks = shape[2];
    sReleaseMsg(qb, (void *)shape, &err);
    for (int t = 0; t < blocks; t++) {
        double *c = sAllocateMsg(qc, &err);
        app_check(err, "sAllocateMsg");
        memset(c, 0, (size_t)n * n * sizeof *c);
        for (int k = 0; k < steps; k++) {
            double *a = sRecvMsg(qa, &bytes, &err);
            app_check(err, "sRecvMsg");
            double *b = sRecvMsg(qb, &bytes, &err);
            app_check(err, "sRecvMsg");
            multiply(c, a, b, n);
            sReleaseMsg(qa, a, &err);
            sReleaseMsg(qb, b, &err);
        }
        sSendMsg(qc, c, n * n * (int)sizeof *c, &err);
        app_check(err, "sSendMsg");
    }
}

static void with_queues(struct app *app, struct job *job) {
    int err, qa[256], qb[256], qc[256];
    const size_t bytes = (size_t)job->block * job->block * sizeof(double);
    for (int s = 0; s < app->slaves; s++) {
        qa[s] = app_queue("A", s, bytes, 2, 2, MasterToSlave);
        qb[s] = app_queue("B", s, bytes, 2, 2, MasterToSlave);
        qc[s] = app_queue("C", s, bytes, 1, 1, SlaveToMaster);
    }
    app_start_clock(app);
    ThreadID threads = app_slaves(app, queue_slave, NULL);
    const int blocks = job->per_side * job->per_side;
    for (int s = 0; s < app->slaves; s++) {
        int *shape = mAllocateMsg(s, qb[s], &err);
        app_check(err, "mAllocateMsg");
        shape[0] = job->block;
        shape[1] = job->per_side;
        shape[2] = (blocks - s + app->slaves - 1) / app->slaves;
        mSendMsg(s, qb[s], shape, 3 * (int)sizeof(int), &err);
    }
    const int rounds = (blocks + app->slaves - 1) / app->slaves;
    for (int round = 0; round <= rounds; round++)
        for (int k = 0; k < job->per_side; k++) {
            for (int s = 0; s < app->slaves; s++) {
                int t = block_of(job, round, s);
                if (t < 0) continue;
                double *m = mAllocateMsg(s, qa[s], &err);
                app_check(err, "mAllocateMsg");
                take(job, m, job->a, t / job->per_side, k);
                mSendMsg(s, qa[s], m, (int)bytes, &err);
                m = mAllocateMsg(s, qb[s], &err);
                app_check(err, "mAllocateMsg");
                take(job, m, job->b, k, t % job->per_side);
                mSendMsg(s, qb[s], m, (int)bytes, &err);
            }
            /* The last round's results, once the slaves have work for a while again. */
            if (round == 0 || k != (job->per_side > 1)) continue;
            for (int s = 0; s < app->slaves; s++) {
                int t = block_of(job, round - 1, s);
                if (t < 0) continue;
                double *c = mRecvMsg(s, qc[s], NULL, &err);
                app_check(err, "mRecvMsg");
                put(job, job->c, c, t / job->per_side, t % job->per_side);
                mReleaseMsg(s, qc[s], c, &err);
            }
        }
    mWaitSlaveThreads(threads);
    mDestroySlaveThreads(threads);
}

/* ---- by hand ---- */

static void *hand_worker(void *arg) {
    struct worker *w = arg;
    const struct job *job = w->arg;
    const int n = job->block;
    for (int round = 0; block_of(job, round, w->number) >= 0; round++) {
        double *c = hand_buffer(w->out);
        memset(c, 0, (size_t)n * n * sizeof *c);
        for (int k = 0; k < job->per_side; k++) {
            int bytes;
            const double *a = hand_receive(w->in, &bytes), *b = hand_receive(w->in2, &bytes);
            multiply(c, a, b, n);
            hand_return(w->in);
            hand_return(w->in2);
        }
        hand_send(w->out, n * n * (int)sizeof *c);
    }
    return NULL;
}

static void by_hand(struct app *app, struct job *job) {
    const size_t bytes = (size_t)job->block * job->block * sizeof(double);
    struct worker *w = workers_new(app);
    for (int s = 0; s < app->slaves; s++) {
        /* As many buffers as both sides of a queue have together. */
        w[s].in = hand_new(app, bytes, 4);
        w[s].in2 = hand_new(app, bytes, 4);
        w[s].out = hand_new(app, bytes, 2);
        w[s].arg = job;
    }
    app_start_clock(app);
    workers_start(app, w, hand_worker);
    const int blocks = job->per_side * job->per_side, rounds = (blocks + app->slaves - 1) / app->slaves;
    for (int round = 0; round <= rounds; round++)
        for (int k = 0; k < job->per_side; k++) {
            for (int s = 0; s < app->slaves; s++) {
                int t = block_of(job, round, s);
                if (t < 0) continue;
                take(job, hand_buffer(w[s].in), job->a, t / job->per_side, k);
                hand_send(w[s].in, (int)bytes);
                take(job, hand_buffer(w[s].in2), job->b, k, t % job->per_side);
                hand_send(w[s].in2, (int)bytes);
            }
            if (round == 0 || k != (job->per_side > 1)) continue;
            for (int s = 0; s < app->slaves; s++) {
                int t = block_of(job, round - 1, s), got;
                if (t < 0) continue;
                put(job, job->c, hand_receive(w[s].out, &got), t / job->per_side, t % job->per_side);
                hand_return(w[s].out);
            }
        }
    workers_end(app, w);
}

/* ---- slaves that fetch their blocks themselves, twice buffered ---- */

static void dma_slave(void *arg) {
    const struct job *job = arg;
    const int n = job->block, slave = sGetSlaveId(), steps = job->per_side;
    const size_t values = (size_t)n * n, bytes = values * sizeof(double);
    int err, put_number = 0;
    double *a[2], *b[2], *c;
    volatile int got[2] = {0, 0}, put_done = 0;
    int wanted[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        a[i] = sMalloc(SlaveArrayMem, bytes, &err);
        app_check(err, "sMalloc");
        b[i] = sMalloc(SlaveArrayMem, bytes, &err);
        app_check(err, "sMalloc");
    }
    c = sMalloc(SlaveArrayMem, bytes, &err);
    app_check(err, "sMalloc");
    const int blocks = job->per_side * job->per_side;
    const int mine = slave < blocks ? (blocks - slave - 1) / job->app->slaves + 1 : 0;
    for (int step = -1; step < mine * steps; step++) {
        const int next = step + 1;
        if (next < mine * steps) {
            const int t = block_of(job, next / steps, slave), k = next % steps, i = next & 1;
            sDmaGet(a[i], job->packed_a + (size_t)(t / steps * steps + k) * values, bytes, &got[i], &err);
            sDmaGet(b[i], job->packed_b + (size_t)(k * steps + t % steps) * values, bytes, &got[i], &err);
            wanted[i] += 2;
        }
        if (step < 0) continue;
        sDmaWait(&got[step & 1], wanted[step & 1]);
        if (step % steps == 0) {
            sDmaWait(&put_done, put_number);
            memset(c, 0, bytes);
        }
        multiply(c, a[step & 1], b[step & 1], n);
        if (step % steps == steps - 1) {
            sDmaPut(job->packed_c + (size_t)block_of(job, step / steps, slave) * values, c, bytes, &put_done, &err);
            put_number++;
        }
    }
    sDmaWait(&put_done, put_number);
}

static void with_dma(struct app *app, struct job *job) {
    const size_t bytes = (size_t)job->n * job->n * sizeof(double), values = (size_t)job->block * job->block;
    job->packed_a = app_memory(bytes);
    job->packed_b = app_memory(bytes);
    job->packed_c = app_memory(bytes);
    app_start_clock(app);
    for (int t = 0; t < job->per_side * job->per_side; t++) {
        take(job, job->packed_a + t * values, job->a, t / job->per_side, t % job->per_side);
        take(job, job->packed_b + t * values, job->b, t / job->per_side, t % job->per_side);
    }
    ThreadID threads = app_slaves(app, dma_slave, job);
    mWaitSlaveThreads(threads);
    mDestroySlaveThreads(threads);
    for (int t = 0; t < job->per_side * job->per_side; t++)
        put(job, job->c, job->packed_c + t * values, t / job->per_side, t % job->per_side);
    free(job->packed_a);
    free(job->packed_b);
    free(job->packed_c);
}

/* C x = A (B x) for some vectors x, exactly: a wrong element would have to hide in all of them. */
static int verify(const struct job *job) {
    int right = 1;
    const size_t n = (size_t)job->n;
    double *x = app_memory(3 * n * sizeof *x), *bx = x + n, *abx = bx + n;
    for (int trial = 0; trial < 4; trial++) {
        for (size_t i = 0; i < n; i++) x[i] = trial ? (double)((i * 2654435761u >> (4 * trial)) % 7) - 3 : 1;
        for (size_t i = 0; i < n; i++) {
            bx[i] = 0;
            for (size_t j = 0; j < n; j++) bx[i] += job->b[i * n + j] * x[j];
        }
        for (size_t i = 0; i < n; i++) {
            abx[i] = 0;
            double cx = 0;
            for (size_t j = 0; j < n; j++) {
                abx[i] += job->a[i * n + j] * bx[j];
                cx += job->c[i * n + j] * x[j];
            }
            right &= cx == abx[i];
        }
    }
    free(x);
    return right;
}

int main(int argc, char **argv) {
    struct app app = app_begin("matmul", argc, argv, 1u << QUEUES | 1u << THREADS | 1u << CONDVAR | 1u << DMA);
    struct job job = {.app = &app, .n = app.large ? 1024 : 192, .block = 64};
    if (app.argc > 0) job.block = (int)app_number("block", app.argv[0], 32, 64) / 32 * 32;
    /* Five blocks have to fit: two of A, two of B, one of C. */
    if (5 * (size_t)job.block * job.block * sizeof(double) > mGetLocalMemSize(SlaveArrayMem)) job.block = 32;
    job.per_side = job.n / job.block;
    const size_t values = (size_t)job.n * job.n;
    double *a = app_memory(values * sizeof *a), *b = app_memory(values * sizeof *b);
    job.c = app_memory(values * sizeof *job.c);
    double sum = 0;
    for (size_t i = 0; i < values; i++) {
        a[i] = (double)(i * 2654435761u % 17) - 8;
        b[i] = (double)(i * 2246822519u % 13) - 6;
        job.c[i] = -1;
    }
    job.a = a;
    job.b = b;
    if (app.way == QUEUES)
        with_queues(&app, &job);
    else if (app.way == DMA)
        with_dma(&app, &job);
    else
        by_hand(&app, &job);
    app_stop_clock(&app);
    app_time(&app, 2e-9 * (double)job.n * job.n * job.n, "Gflop/s");
    for (size_t i = 0; i < values; i++) sum += job.c[i];
    int right = verify(&job);
    printf("matmul: %d by %d, sum of the elements %.0f, %s\n", job.n, job.n, sum, right ? "right" : "wrong");
    free(a);
    free(b);
    free(job.c);
    return !right;
}
