/* A strict platform ends the program where the wrong side touches memory, and says who, what and where.
 * Argument: slot (a slave writes to the master's slot), master (the master writes to a slot that it has sent), store,
 * array, shared (a slave runs over the end of its scalar or array memory, or of its cluster's), released, sent (a slave
 * reads a message that it has released, or writes to one that it has sent); none: three slaves fill all of their
 * memories and use messages as they should. */
#include "mq_check.h"

static volatile char *slot;

/* All that is left of a memory of the calling slave, filled with its number; *n bytes. NULL where nothing is left, as
 * where both kinds are one memory. */
static volatile char *fill(int kind, size_t *n) {
    int err;
    *n = sGetLocalMemFree(kind);
    if (*n == 0) return NULL;
    volatile char *p = sMalloc(kind, *n, &err);
    CHECK(p && err == MQ_OK);
    for (size_t i = 0; i < *n; i += 64) p[i] = (char)(sGetSlaveId() + 1);
    return p;
}

static void slave(void *arg) {
    int err, bytes;
    size_t n, m;
    if (!strcmp(arg, "store")) {
        volatile char *p = fill(SlaveScalarMem, &n);
        p[n] = 1; /* LINE store */
    }
    if (!strcmp(arg, "array")) {
        volatile char *p = fill(SlaveArrayMem, &n);
        p[n] = 1; /* LINE array */
    }
    if (!strcmp(arg, "shared") && sGetSlaveId() == 0) {
        volatile char *p = fill(SlaveGlobalMem, &n);
        p[n] = 1; /* LINE shared */
    }
    if (!strcmp(arg, "slot")) slot[1] = 2; /* LINE slot */
    if (!strcmp(arg, "none")) {
        volatile char *p = fill(SlaveScalarMem, &n), *q = fill(SlaveArrayMem, &m);
        for (size_t i = 0; p && i < n; i += 64) CHECK(p[i] == sGetSlaveId() + 1);
        for (size_t i = 0; q && i < m; i += 64) CHECK(q[i] == sGetSlaveId() + 1);
    }
    if (sGetSlaveId() != 0) return;
    volatile char *in = sRecvMsg(sGetQueueHandle("q", &err), &bytes, &err);
    CHECK(in && bytes == 64 && in[0] == 1);
    sReleaseMsg(sGetQueueHandle("q", &err), (void *)in, &err);
    CHECK(err == MQ_OK);
    if (!strcmp(arg, "released")) CHECK(in[0] == 1); /* LINE released */
    int h = sGetQueueHandle("out", &err), reply = 0;
    volatile char *out = sAllocateMsg(h, &err);
    CHECK(out);
    /* A slot lies in the store: DMA goes there, too. */
    char mine[64] = {7};
    sDmaGet((void *)out, mine, 64, &reply, &err);
    CHECK(err == MQ_OK);
    sDmaWait(&reply, 1);
    sSendMsg(h, (void *)out, 64, &err);
    if (!strcmp(arg, "sent")) out[0] = 8; /* LINE sent */
}

int main(int argc, char **argv) {
    int err;
    char *what = argc > 1 ? argv[1] : "";
    int h = mCreateQueue(0, "q", 0, 64, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err);
    slot = mAllocateMsg(0, h, &err);
    slot[0] = 1;
    mSendMsg(0, h, (void *)slot, 64, &err);
    if (!strcmp(what, "master")) slot[0] = 3; /* LINE master */
    int g = mCreateQueue(0, "out", 0, 64, 1, 1, NULL, SlaveScalarMem, SlaveToMaster, &err), bytes;
    ThreadID t = mStartSlaveThreads(0, 3, (void *)slave, what);
    char *got = mRecvMsg(0, g, &bytes, &err);
    CHECK(got && bytes == 64 && got[0] == 7);
    mReleaseMsg(0, g, got, &err);
    mWaitSlaveThreads(t);
    puts("passed");
    return 0;
}
