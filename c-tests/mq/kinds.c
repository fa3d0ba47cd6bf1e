/* Queues and blocks in every kind of memory, and what the slaves of a cluster share: argument 1 where the platform has
 * the two shared memories, 0 where all kinds are one memory. */
#include "mq_check.h"

enum { KINDS = 4, WORDS = 100, ROUNDS = 50 };

static long numbers[WORDS];

static void slave(void *arg) {
    int err, bytes;
    (void)arg;
    for (int kind = 0; kind < KINDS; kind++) {
        char in_name[] = "in0", out_name[] = "out0";
        in_name[2] = out_name[3] = (char)('0' + kind);
        int in = sGetQueueHandle(in_name, &err), out = sGetQueueHandle(out_name, &err), reply = 0;
        for (int i = 0; i < ROUNDS; i++) {
            long *m = sRecvMsg(in, &bytes, &err), *r = sAllocateMsg(out, &err);
            CHECK(m && r && bytes == sizeof numbers);
            for (int w = 0; w < WORDS; w++) r[w] = m[w] + sGetSlaveId();
            sReleaseMsg(in, m, &err);
            sSendMsg(out, r, sizeof numbers, &err);
            CHECK(err == MQ_OK);
        }
        /* A block of the kind, filled by DMA; other slaves have theirs at the same time. */
        long *block = sMalloc(kind, sizeof numbers, &err);
        CHECK(block && err == MQ_OK);
        sDmaGet(block, numbers, sizeof numbers, &reply, &err);
        CHECK(err == MQ_OK);
        sDmaWait(&reply, 1);
        CHECK(memcmp(block, numbers, sizeof numbers) == 0);
        sFree(block, &err);
        CHECK(err == MQ_OK);
        CHECK(sMalloc(kind, sGetLocalMemSize(kind) + 1, &err) == NULL && err == MQ_NO_LOCAL_MEMORY);
    }
}

int main(int argc, char **argv) {
    enum { SLAVES = 3 };
    int shares = argc > 1 && argv[1][0] == '1', in[SLAVES][KINDS], out[SLAVES][KINDS], err;
    for (int w = 0; w < WORDS; w++) numbers[w] = w * 7;
    CHECK(mGetLocalMemSize(KINDS) == 0 && mGetLocalMemSize(-1) == 0);
    CHECK(mCreateQueue(0, "none", 0, 8, 1, 1, NULL, (SlaveMemKind)KINDS, MasterToSlave, &err) == -1 &&
          err == MQ_BAD_KIND);
    for (int kind = SlaveGlobalMem; kind < KINDS; kind++) {
        /* Three quarters for one slave: what another slave of the cluster has left, and one of another cluster. */
        size_t size = mGetLocalMemSize(kind), big = size / 4;
        CHECK(shares ? size > mGetLocalMemSize(SlaveScalarMem) : size == mGetLocalMemSize(SlaveScalarMem));
        int h = mCreateQueue(0, "big", 0, big, 1, 3, NULL, (SlaveMemKind)kind, MasterToSlave, &err);
        CHECK(h >= 0 && mGetLocalMemFree(0, 0, kind) == size - 3 * big);
        CHECK(mGetLocalMemFree(0, 1, kind) == (shares ? size - 3 * big : size) && mGetLocalMemFree(1, 0, kind) == size);
        int other = mCreateQueue(0, "big", 1, big, 1, 2, NULL, (SlaveMemKind)kind, MasterToSlave, &err);
        CHECK(shares ? other == -1 && err == MQ_NO_LOCAL_MEMORY : other >= 0);
        mDestroyQueue(0, h, &err);
        if (!shares) mDestroyQueue(1, other, &err);
        CHECK(err == MQ_OK && mGetLocalMemFree(0, 1, kind) == size);
    }
    for (int i = 0; i < SLAVES; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            char in_name[] = "in0", out_name[] = "out0";
            in_name[2] = out_name[3] = (char)('0' + kind);
            in[i][kind] = mCreateQueue(0, in_name, i, sizeof numbers, 2, 2, NULL, (SlaveMemKind)kind, MasterToSlave,
                                       &err);
            out[i][kind] = mCreateQueue(0, out_name, i, sizeof numbers, 2, 2, NULL, (SlaveMemKind)kind, SlaveToMaster,
                                        &err);
            CHECK(in[i][kind] >= 0 && out[i][kind] >= 0);
        }
    ThreadID t = mStartSlaveThreads(0, SLAVES, (void *)slave, NULL);
    for (int kind = 0; kind < KINDS; kind++)
        for (int n = 0; n < ROUNDS; n++) {
            for (int i = 0; i < SLAVES; i++) {
                long *m = mAllocateMsg(i, in[i][kind], &err);
                CHECK(m && err == MQ_OK);
                for (int w = 0; w < WORDS; w++) m[w] = n * w + kind;
                mSendMsg(i, in[i][kind], m, sizeof numbers, &err);
            }
            for (int i = 0; i < SLAVES; i++) {
                int bytes;
                long *m = mRecvMsg(i, out[i][kind], &bytes, &err);
                CHECK(m && bytes == sizeof numbers);
                for (int w = 0; w < WORDS; w++) CHECK(m[w] == n * w + kind + i);
                mReleaseMsg(i, out[i][kind], m, &err);
            }
        }
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    return check_end();
}
