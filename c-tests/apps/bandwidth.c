/* The bandwidth of messages, in the paper's four steps:
 *   1. a vector of double-precision numbers is filled;
 *   2. pieces of it, each with its number, are sent to every slave;
 *   3. a slave checks each piece by its number, and adds the numbers up;
 *   4. it returns the sum, by which the master knows that everything came.
 *
 *     bandwidth [S|A] [queues|threads|condvar|dma] [SLAVES] [BYTES] [MESSAGES] [SLOTS]
 *
 * BYTES are those of a message (16384), MESSAGES how many every slave gets, SLOTS how many fit on each side.
 * dma is what the chip's transfers reach without messages: the slaves fetch pieces that lie ready.
 * The time is that of steps 2 to 4, after a few messages that touch every buffer. Whoever moves the data, the master
 * has the first CPU and slaves the following ones in turn: where threads lie decides more than how they hand data over.
 */
#define _GNU_SOURCE
#include "hand.h"

struct piece {
    int64_t number;
    double values[];
};

struct test {
    const struct app *app;
    const double *vector;
    int values, slots; /* of a message; of a side */
    size_t bytes;
    int64_t messages;
    char *ready;     /* dma: pieces that lie ready, one after the other */
    int64_t *answers; /* dma: one line for each slave */
    atomic_int go;    /* dma: not 0 once the time runs */
};

/* Small enough to stay in a cache next to the buffers: the subject is how messages travel. */
enum { VECTOR = 16384 };

/* Where piece k begins in the vector. */
static int place(int64_t k, int values) { return (int)(k * 997 % (VECTOR - values + 1)); }

static cpu_set_t allowed;

/* Keeps the calling thread on the n-th of the CPUs that the process may use, counting round. */
static void pin(int n) {
    cpu_set_t one;
    n %= CPU_COUNT(&allowed);
    CPU_ZERO(&one);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &allowed) && n-- == 0) CPU_SET(c, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void fill(const struct test *t, struct piece *p, int64_t k) {
    p->number = k;
    memcpy(p->values, t->vector + place(k, t->values), (size_t)t->values * sizeof(double));
}

/* Messages before the clock starts (phase 0), and those that count. */
static int64_t messages_of(const struct test *t, int phase) { return phase ? t->messages : 2 * t->slots + 1; }

static int64_t sum_of_numbers(const struct test *t, int phase) {
    return messages_of(t, phase) * (messages_of(t, phase) - 1) / 2;
}

/* Its number, or one that spoils the sum. Element i of the vector is i. */
static int64_t check(const struct piece *p, int values, int64_t expected) {
    int begin = place(p->number, values), bad = 0;
    for (int i = 0; i < values; i++) bad += p->values[i] != (double)(begin + i);
    return bad || p->number != expected ? INT64_MIN / 2 : p->number;
}

/* ---- queues ---- */

static void queue_slave(void *arg) {
    const struct test *t = arg;
    int err;
    pin(1 + sGetSlaveId());
    int in = sGetQueueHandle("Input", &err), out = sGetQueueHandle("Output", &err);
    app_check(err, "queue Output");
    for (int phase = 0; phase < 2; phase++) {
        const int values = t->values;
        const int64_t messages = messages_of(t, phase);
        int64_t sum = 0;
        for (int64_t k = 0; k < messages; k++) {
            struct piece *p = sRecvMsg(in, NULL, &err);
            app_check(err, "sRecvMsg");
            sum += check(p, values, k);
            sReleaseMsg(in, p, &err);
        }
        int64_t *answer = sAllocateMsg(out, &err);
        app_check(err, "sAllocateMsg");
        *answer = sum;
        sSendMsg(out, answer, sizeof *answer, &err);
    }
}

static int with_queues(struct app *app, struct test *t) {
    int err, in[256], out[256], right = 1;
    for (int s = 0; s < app->slaves; s++) {
        in[s] = app_queue("Input", s, t->bytes, t->slots, t->slots, MasterToSlave);
        out[s] = app_queue("Output", s, sizeof(int64_t), 1, 1, SlaveToMaster);
    }
    ThreadID threads = app_slaves(app, queue_slave, t);
    pin(0);
    for (int phase = 0; phase < 2; phase++) {
        const int64_t messages = messages_of(t, phase);
        app_start_clock(app);
        for (int64_t k = 0; k < messages; k++)
            for (int s = 0; s < app->slaves; s++) {
                struct piece *p = mAllocateMsg(s, in[s], &err);
                app_check(err, "mAllocateMsg");
                fill(t, p, k);
                mSendMsg(s, in[s], p, (int)t->bytes, &err);
            }
        for (int s = 0; s < app->slaves; s++) {
            int64_t *answer = mRecvMsg(s, out[s], NULL, &err);
            app_check(err, "mRecvMsg");
            right &= *answer == sum_of_numbers(t, phase);
            mReleaseMsg(s, out[s], answer, &err);
        }
        app_stop_clock(app);
    }
    mWaitSlaveThreads(threads);
    mDestroySlaveThreads(threads);
    return right;
}

/* ---- by hand ---- */

static void *hand_worker(void *arg) {
    struct worker *w = arg;
    const struct test *t = w->arg;
    pin(1 + w->number);
    for (int phase = 0; phase < 2; phase++) {
        const int values = t->values;
        const int64_t messages = messages_of(t, phase);
        int64_t sum = 0;
        for (int64_t k = 0; k < messages; k++) {
            int bytes;
            sum += check(hand_receive(w->in, &bytes), values, k);
            hand_return(w->in);
        }
        *(int64_t *)hand_buffer(w->out) = sum;
        hand_send(w->out, sizeof sum);
    }
    return NULL;
}

static int by_hand(struct app *app, struct test *t) {
    int right = 1;
    struct worker *w = workers_new(app);
    for (int s = 0; s < app->slaves; s++) {
        /* As many buffers as both sides of a queue have together. */
        w[s].in = hand_new(app, t->bytes, 2 * t->slots);
        w[s].out = hand_new(app, sizeof(int64_t), 1);
        w[s].arg = t;
    }
    workers_start(app, w, hand_worker);
    pin(0);
    for (int phase = 0; phase < 2; phase++) {
        const int64_t messages = messages_of(t, phase);
        app_start_clock(app);
        for (int64_t k = 0; k < messages; k++)
            for (int s = 0; s < app->slaves; s++) {
                fill(t, hand_buffer(w[s].in), k);
                hand_send(w[s].in, (int)t->bytes);
            }
        for (int s = 0; s < app->slaves; s++) {
            int bytes;
            right &= *(int64_t *)hand_receive(w[s].out, &bytes) == sum_of_numbers(t, phase);
            hand_return(w[s].out);
        }
        app_stop_clock(app);
    }
    workers_end(app, w);
    return right;
}

/* ---- transfers without messages ---- */

static void dma_slave(void *arg) {
    const struct test *t = arg;
    int err;
    volatile int reply[16] = {0};
    char *buffer[16];
    int64_t sum = 0;
    pin(1 + sGetSlaveId());
    for (int i = 0; i < t->slots; i++) {
        buffer[i] = sMalloc(SlaveArrayMem, t->bytes, &err);
        app_check(err, "sMalloc");
    }
    /* Starting the threads is no part of the time. */
    while (!atomic_load_explicit(&t->go, memory_order_acquire)) sched_yield();
    for (int64_t k = 0; k < t->slots && k < t->messages; k++)
        sDmaGet(buffer[k], t->ready + (size_t)k * t->bytes, t->bytes, &reply[k], &err);
    for (int64_t k = 0; k < t->messages; k++) {
        int i = (int)(k % t->slots);
        sDmaWait(&reply[i], (int)(k / t->slots) + 1);
        sum += check((struct piece *)buffer[i], t->values, k);
        if (k + t->slots < t->messages)
            sDmaGet(buffer[i], t->ready + (size_t)(k + t->slots) * t->bytes, t->bytes, &reply[i], &err);
    }
    sDirectWrite(&t->answers[sGetSlaveId() * 16], &sum, sizeof sum);
}

static int with_dma(struct app *app, struct test *t) {
    int right = 1;
    t->ready = app_memory(t->bytes * (size_t)t->messages);
    t->answers = app_memory((size_t)app->slaves * 128);
    for (int64_t k = 0; k < t->messages; k++) fill(t, (struct piece *)(t->ready + (size_t)k * t->bytes), k);
    ThreadID threads = app_slaves(app, dma_slave, t);
    pin(0);
    app_start_clock(app);
    atomic_store_explicit(&t->go, 1, memory_order_release);
    mWaitSlaveThreads(threads);
    app_stop_clock(app);
    mDestroySlaveThreads(threads);
    for (int s = 0; s < app->slaves; s++) right &= t->answers[s * 16] == sum_of_numbers(t, 1);
    free(t->ready);
    free(t->answers);
    return right;
}

int main(int argc, char **argv) {
    struct app app = app_begin("bandwidth", argc, argv, 1u << QUEUES | 1u << THREADS | 1u << CONDVAR | 1u << DMA);
    struct test t = {.app = &app, .bytes = 16384};
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_SET(0, &allowed);
    double *vector = app_memory(VECTOR * sizeof *vector);
    for (int i = 0; i < VECTOR; i++) vector[i] = i;
    t.vector = vector;
    if (app.argc > 0) t.bytes = (size_t)app_number("bytes of a message", app.argv[0], 16, 8 * (VECTOR + 1)) / 8 * 8;
    t.values = (int)(t.bytes / 8) - 1;
    t.messages = app.large ? 20000 : 60;
    if (app.argc > 1) t.messages = app_number("messages", app.argv[1], 1, 1000000000);
    t.slots = t.bytes >= 8192 ? 2 : t.bytes >= 1024 ? 8 : 16;
    if (app.argc > 2) t.slots = (int)app_number("slots", app.argv[2], 1, 16);
    int right = app.way == QUEUES ? with_queues(&app, &t)
                : app.way == DMA  ? with_dma(&app, &t)
                                  : by_hand(&app, &t);
    app_time(&app, (double)t.bytes * (double)t.messages * app.slaves / 1e9, "GB/s");
    printf("bandwidth: %lld messages of %zu bytes to every slave, %s\n", (long long)t.messages, t.bytes,
           right ? "all right" : "wrong");
    free(vector);
    return !right;
}
