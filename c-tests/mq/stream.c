/* Order and content of many messages: queues of every shape, lengths that vary, single calls and batches, several
 * messages held at a time, and 64-bit sums that find a lost or doubled one. hetmp-mq-test: slaves=1,3 */
#include "mq_check.h"

/* The thread sanitizer does not see the library's copies between two stages. */
#ifdef __SANITIZE_THREAD__
#define OWN 0
#else
#define OWN 1
#endif

#define SHAPES 6
#ifndef MESSAGES
#define MESSAGES 1000
#endif

static const struct {
    int bytes, master, slave;
} shapes[SHAPES] = {{8, 1, 1}, {8, 64, 64}, {24, 2, 3}, {100, 5, 1}, {64, 1, 7}, {4096, 2, 2}};

static unsigned next_random(unsigned *state) { return *state = *state * 1664525u + 1013904223u; }

static void fill(unsigned char *p, int bytes, unsigned i) {
    for (int b = 0; b < bytes; b++) p[b] = (unsigned char)(i * 31 + (unsigned)b);
}
static int is(const unsigned char *p, int bytes, unsigned i) {
    for (int b = 0; b < bytes; b++)
        if (p[b] != (unsigned char)(i * 31 + (unsigned)b)) return 0;
    return 1;
}
/* How long message i of a shape is. */
static int length(int shape, unsigned i) { return (int)(i * 7919u % (unsigned)(shapes[shape].bytes + 1)); }

/* Receives everything from the even queues and sends it on to the odd ones. */
static void slave(void *arg) {
    int err, bytes, in[SHAPES], out[SHAPES];
    char name[16];
    (void)arg;
    for (int s = 0; s < SHAPES; s++) {
        snprintf(name, sizeof name, "in%d", s);
        in[s] = sGetQueueHandle(name, &err);
        snprintf(name, sizeof name, "out%d", s);
        out[s] = sGetQueueHandle(name, &err);
        CHECK(in[s] >= 0 && out[s] >= 0);
    }
    unsigned got[SHAPES] = {0}, left = SHAPES * MESSAGES;
    while (left) {
        for (int s = 0; s < SHAPES; s++) {
            unsigned char *m = sTryRecvMsg(in[s], &bytes, &err);
            if (!m) {
                CHECK(err == MQ_WOULD_BLOCK);
                continue;
            }
            CHECK(bytes == length(s, got[s]) && is(m, bytes, got[s]));
            CHECK((size_t)m % (shapes[s].bytes >= 64 ? 64 : 8) == 0);
            unsigned char *r = sAllocateMsg(out[s], &err);
            CHECK(r != NULL);
            memcpy(r, m, (size_t)bytes);
            sSendMsg(out[s], r, bytes, &err);
            CHECK(err == MQ_OK);
            sReleaseMsg(in[s], m, &err);
            CHECK(err == MQ_OK);
            got[s]++;
            left--;
        }
    }
}

static void batches(void *arg) {
    int err, h = sGetQueueHandle("batch", &err), got;
    size_t stride;
    unsigned next = 0;
    while (next < 20000) {
        char *p = sRecvBatch(h, 9, &got, &stride, &err);
        CHECK(p && got >= 1 && got <= 9);
        for (int k = 0; k < got; k++) {
            unsigned v;
            memcpy(&v, p + (size_t)k * stride, sizeof v);
            CHECK(v == next);
            next++;
        }
        sReleaseBatch(h, p, got, &err);
        CHECK(err == MQ_OK);
    }
    *(unsigned *)arg = next;
}

int main(int argc, char **argv) {
    int n = slaves(argc, argv), err, bytes;
    char name[16];
    if (n > mGetMaxSlaveCoreNum(0)) n = mGetMaxSlaveCoreNum(0);
    int(*in)[SHAPES] = malloc(sizeof *in * (size_t)n), (*out)[SHAPES] = malloc(sizeof *out * (size_t)n);
    unsigned(*sent)[SHAPES] = calloc((size_t)n, sizeof *sent), (*got)[SHAPES] = calloc((size_t)n, sizeof *got);
    /* One queue's slots at the master are the program's own. */
    static uint64_t own[64][1024];
    for (int i = 0; i < n; i++)
        for (int s = 0; s < SHAPES; s++) {
            snprintf(name, sizeof name, "in%d", s);
            in[i][s] = mCreateQueue(0, name, i, (size_t)shapes[s].bytes, shapes[s].master, shapes[s].slave,
                                    OWN && s == 5 && i < 64 ? own[i] : NULL, SlaveScalarMem, MasterToSlave, &err);
            CHECK(err == MQ_OK);
            snprintf(name, sizeof name, "out%d", s);
            out[i][s] = mCreateQueue(0, name, i, (size_t)shapes[s].bytes, shapes[s].master, shapes[s].slave, NULL,
                                     SlaveArrayMem, SlaveToMaster, &err);
            CHECK(err == MQ_OK);
        }
    ThreadID t = mStartSlaveThreads(0, n, (void *)slave, NULL);
    unsigned left = (unsigned)n * SHAPES * MESSAGES, state = 1;
    while (left) {
        for (int i = 0; i < n; i++)
            for (int s = 0; s < SHAPES; s++) {
                /* As many as there is room for, all held before the first is sent. */
                void *held[8];
                int k = 0, want = 1 + (int)(next_random(&state) >> 16) % 8;
                while (k < want && sent[i][s] + (unsigned)k < MESSAGES &&
                       (held[k] = mTryAllocateMsg(i, in[i][s], &err)))
                    k++;
                for (int j = 0; j < k; j++) {
                    bytes = length(s, sent[i][s]);
                    fill(held[j], bytes, sent[i][s]);
                    mSendMsg(i, in[i][s], held[j], bytes, &err);
                    CHECK(err == MQ_OK);
                    sent[i][s]++;
                }
                unsigned char *r;
                while ((r = mTryRecvMsg(i, out[i][s], &bytes, &err))) {
                    CHECK(bytes == length(s, got[i][s]) && is(r, bytes, got[i][s]));
                    mReleaseMsg(i, out[i][s], r, &err);
                    CHECK(err == MQ_OK);
                    got[i][s]++;
                    left--;
                }
            }
    }
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    for (int i = 0; i < n; i++)
        for (int s = 0; s < SHAPES; s++) {
            CHECK(mGetQueueMsgNum(i, in[i][s], &err) == 0);
            mDestroyQueue(i, in[i][s], &err);
            CHECK(err == MQ_OK);
            mDestroyQueue(i, out[i][s], &err);
            CHECK(err == MQ_OK);
        }

    unsigned done = 0;
    int h = mCreateQueue(0, "batch", 0, 12, 10, 10, NULL, SlaveScalarMem, MasterToSlave, &err), some;
    size_t stride;
    t = mStartSlaveThreads(0, 1, (void *)batches, &done);
    for (unsigned next = 0; next < 20000;) {
        int want = 1 + (int)(next_random(&state) >> 16) % 13;
        if ((unsigned)want > 20000 - next) want = (int)(20000 - next);
        char *p = mAllocateBatch(0, h, want, &some, &stride, &err);
        CHECK(p && some >= 1 && some <= want);
        for (int k = 0; k < some; k++, next++) memcpy(p + (size_t)k * stride, &next, sizeof next);
        mSendBatch(0, h, p, some, 12, &err);
        CHECK(err == MQ_OK);
    }
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    CHECK(done == 20000);
    CHECK(mAllocateBatch(0, h, 0, &some, &stride, &err) == NULL && err == MQ_BAD_COUNT);
    free(in), free(out), free(sent), free(got);
    return check_end();
}
