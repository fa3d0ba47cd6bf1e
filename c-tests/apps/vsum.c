/* Vector sum, the example of the paper behind hetmp/mq.h: each slave sums its part of a vector, which
 * the master sends it in pieces ("Input"), and returns the sum of each piece ("Output"). */
#include "hand.h"

enum { PIECE = 1000 };

static int64_t sum_of(const int *a, int n) {
    int64_t sum = 0;
    for (int i = 0; i < n; i++) sum += a[i];
    return sum;
}

/* Part s of the vector begins here; the parts are as equal as can be. */
static size_t part(size_t n, int slaves, int s) { return n * (size_t)s / (size_t)slaves; }

/* Elements of round r of part s, 0 after its end, and where they begin. */
static int piece(const struct app *app, size_t n, int s, size_t r, size_t *at) {
    size_t begin = part(n, app->slaves, s), end = part(n, app->slaves, s + 1);
    *at = begin + r * PIECE;
    return *at >= end ? 0 : end - *at < PIECE ? (int)(end - *at) : PIECE;
}

/* ---- queues ---- */

static void queue_slave(void *unused) {
    int err, bytes;
    (void)unused;
    int in = sGetQueueHandle("Input", &err), out = sGetQueueHandle("Output", &err);
    app_check(err, "queue Output");
    for (;;) {
        int *a = sRecvMsg(in, &bytes, &err);
        app_check(err, "sRecvMsg");
        int n = bytes / (int)sizeof(int);
        int64_t sum = sum_of(a, n);
        sReleaseMsg(in, a, &err);
        if (n == 0) break;
        int64_t *answer = sAllocateMsg(out, &err);
        app_check(err, "sAllocateMsg");
        *answer = sum;
        sSendMsg(out, answer, sizeof *answer, &err);
        app_check(err, "sSendMsg");
    }
}

static int64_t with_queues(struct app *app, const int *a, size_t n) {
    int err, in[256], out[256];
    int64_t sum = 0;
    /* As the paper writes it: a queue of each direction for each slave. */
    for (int s = 0; s < app->slaves; s++) {
        in[s] = app_queue("Input", s, PIECE * sizeof(int), 2, 2, MasterToSlave);
        out[s] = app_queue("Output", s, sizeof(int64_t), 2, 2, SlaveToMaster);
    }
    ThreadID t = app_slaves(app, queue_slave, NULL);
    /* The answers to a round are taken after the next round has been sent. */
    for (size_t r = 0;; r++) {
        int more = 0, len;
        size_t at;
        for (int s = 0; s < app->slaves; s++) {
            len = piece(app, n, s, r, &at);
            if (len == 0 && r > 0 && piece(app, n, s, r - 1, &at) == 0) continue;
            /* A slave's last message is empty. */
            void *m = mAllocateMsg(s, in[s], &err);
            app_check(err, "mAllocateMsg");
            if (len) memcpy(m, a + at, (size_t)len * sizeof(int));
            mSendMsg(s, in[s], m, len * (int)sizeof(int), &err);
            app_check(err, "mSendMsg");
            more = 1;
        }
        for (int s = 0; r > 0 && s < app->slaves; s++) {
            if (piece(app, n, s, r - 1, &at) == 0) continue;
            int64_t *answer = mRecvMsg(s, out[s], NULL, &err);
            app_check(err, "mRecvMsg");
            sum += *answer;
            mReleaseMsg(s, out[s], answer, &err);
            more = 1;
        }
        if (!more) break;
    }
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    return sum;
}

/* ---- by hand ---- */

static void *hand_worker(void *arg) {
    struct worker *w = arg;
    for (;;) {
        int bytes;
        int *a = hand_receive(w->in, &bytes);
        int n = bytes / (int)sizeof(int);
        int64_t sum = sum_of(a, n);
        hand_return(w->in);
        if (n == 0) break;
        *(int64_t *)hand_buffer(w->out) = sum;
        hand_send(w->out, sizeof sum);
    }
    return NULL;
}

static int64_t by_hand(struct app *app, const int *a, size_t n) {
    int64_t sum = 0;
    struct worker *w = workers_new(app);
    for (int s = 0; s < app->slaves; s++) {
        w[s].in = hand_new(app, PIECE * sizeof(int), 4);
        w[s].out = hand_new(app, sizeof(int64_t), 4);
    }
    workers_start(app, w, hand_worker);
    for (size_t r = 0;; r++) {
        int more = 0, len, bytes;
        size_t at;
        for (int s = 0; s < app->slaves; s++) {
            len = piece(app, n, s, r, &at);
            if (len == 0 && r > 0 && piece(app, n, s, r - 1, &at) == 0) continue;
            void *m = hand_buffer(w[s].in);
            if (len) memcpy(m, a + at, (size_t)len * sizeof(int));
            hand_send(w[s].in, len * (int)sizeof(int));
            more = 1;
        }
        for (int s = 0; r > 0 && s < app->slaves; s++) {
            if (piece(app, n, s, r - 1, &at) == 0) continue;
            sum += *(int64_t *)hand_receive(w[s].out, &bytes);
            hand_return(w[s].out);
            more = 1;
        }
        if (!more) break;
    }
    workers_end(app, w);
    return sum;
}

/* ---- slaves that fetch their parts themselves ---- */

struct fetch {
    const struct app *app;
    const int *a;
    size_t n;
    int64_t *sums; /* one line for each slave */
};

static void dma_slave(void *arg) {
    const struct fetch *f = arg;
    int err, slave = sGetSlaveId();
    int *buffer[2];
    volatile int reply[2] = {0, 0};
    int64_t sum = 0;
    size_t at;
    for (int i = 0; i < 2; i++) {
        buffer[i] = sMalloc(SlaveScalarMem, PIECE * sizeof(int), &err);
        app_check(err, "sMalloc");
    }
    int len = piece(f->app, f->n, slave, 0, &at);
    if (len) sDmaGet(buffer[0], f->a + at, (size_t)len * sizeof(int), &reply[0], &err);
    for (size_t r = 0; len; r++) {
        int next = piece(f->app, f->n, slave, r + 1, &at);
        int i = (int)(r & 1), want = (int)(r / 2) + 1;
        /* The next piece is on its way while this one is summed. */
        if (next) sDmaGet(buffer[1 - i], f->a + at, (size_t)next * sizeof(int), &reply[1 - i], &err);
        sDmaWait(&reply[i], want);
        sum += sum_of(buffer[i], len);
        len = next;
    }
    sDirectWrite(&f->sums[slave * 16], &sum, sizeof sum);
}

static int64_t with_dma(struct app *app, const int *a, size_t n) {
    struct fetch f = {app, a, n, app_memory((size_t)app->slaves * 128)};
    ThreadID t = app_slaves(app, dma_slave, &f);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    int64_t sum = 0;
    for (int s = 0; s < app->slaves; s++) sum += f.sums[s * 16];
    free(f.sums);
    return sum;
}

int main(int argc, char **argv) {
    struct app app = app_begin("vsum", argc, argv, 1u << QUEUES | 1u << THREADS | 1u << CONDVAR | 1u << DMA);
    size_t n = app.large ? 16u << 20 : 300007;
    int *a = app_memory(n * sizeof *a);
    int64_t sum, want = 0;
    for (size_t i = 0; i < n; i++) {
        a[i] = (int)(i * 2654435761u % 100003) - 40000;
        want += a[i];
    }
    app_start_clock(&app);
    sum = app.way == QUEUES ? with_queues(&app, a, n) : app.way == DMA ? with_dma(&app, a, n) : by_hand(&app, a, n);
    app_stop_clock(&app);
    app_time(&app, (double)n * sizeof *a / 1e9, "GB/s");
    printf("vsum: %zu numbers, sum %lld, %s\n", n, (long long)sum, sum == want ? "right" : "wrong");
    free(a);
    return sum != want;
}
