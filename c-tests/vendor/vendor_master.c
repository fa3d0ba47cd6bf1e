/* One program text for every backend: messages out and back, both memory kinds, more messages than slots, misuse. */
#include <hetmp/mq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES 200

MQ_DECLARE_SLAVE(echo);

static int failures;
#define CHECK(c) ((c) ? 0 : (failures++, printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #c)))

int main(int argc, char **argv) {
    int err = -1, bytes = 0, cluster = argc > 3 ? atoi(argv[3]) : 0;
    int n = argc > 1 ? atoi(argv[1]) : 4;
    if (n > mGetSlaveCoreNum(cluster)) n = mGetSlaveCoreNum(cluster);
    CHECK(n > 0 && mGetSlaveCoreNum(99) == 0);
    if (argc > 2) CHECK(mLoadSlaveImage(cluster, argv[2]) == MQ_OK);
    CHECK(mLoadSlaveImage(cluster, "/no/such/image") == MQ_BAD_IMAGE);
    static const SlaveMemKind kinds[] = {SlaveScalarMem, SlaveArrayMem, SlaveGlobalMem, SlaveHighBandwidthMem};
    int in[64], out[64];
    for (int i = 0; i < n; i++) {
        in[i] = mCreateQueue(cluster, "in", i, 1000, 3, 2, NULL, kinds[i / 4 % 4], MasterToSlave, &err);
        CHECK(in[i] >= 0 && err == MQ_OK);
        /* All kinds of memory, also at once. */
        SlaveMemKind kind = kinds[(i + 1) % 4];
        out[i] = mCreateQueue(cluster, "out", i, 1000, 2, 3, NULL, kind, SlaveToMaster, &err);
        CHECK(out[i] >= 0 && err == MQ_OK && mGetQueueHandle(i, "out", &err) == out[i]);
    }
    CHECK(mCreateQueue(cluster, "in", 0, 8, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err) == -1 &&
          err == MQ_NAME_IN_USE);
    CHECK(mCreateQueue(cluster, "x", 0, 8, 0, 1, NULL, SlaveScalarMem, MasterToSlave, &err) == -1 &&
          err == MQ_BAD_SLOTS);
    CHECK(mCreateQueue(cluster, "x", 0, mGetLocalMemSize(SlaveScalarMem), 1, 1, NULL, SlaveScalarMem, MasterToSlave,
                       &err) ==
              -1 && err == MQ_NO_LOCAL_MEMORY);
    CHECK(mRecvMsg(0, out[0], &bytes, &err) == NULL && err == MQ_NO_SLAVE);
    CHECK(mAllocateMsg(0, out[0], &err) == NULL && err == MQ_WRONG_DIRECTION);
    CHECK(mAllocateMsg(0, 15, &err) == NULL && err == MQ_NO_SUCH_QUEUE);

    int messages = MESSAGES;
    ThreadID t = mStartSlaveThreads(cluster, n, MQ_SLAVE(echo), NULL);
    CHECK(t.m_num == n && mIsSlaveAlive(cluster, n - 1));
    if (t.m_num != n) return 1;
    int sent[64] = {0}, got[64] = {0}, done = 0;
    while (done < n) {
        for (int i = 0; i < n; i++) {
            int *m;
            if (sent[i] <= messages && (m = mTryAllocateMsg(i, in[i], &err))) {
                /* The last one is empty: the end. */
                int len = sent[i] < messages ? 8 + sent[i] * 37 % 993 : 0;
                if (len) {
                    memset(m, sent[i], (size_t)len);
                    memcpy(m, &sent[i], sizeof(int));
                }
                mSendMsg(i, in[i], m, len, &err);
                CHECK(err == MQ_OK);
                sent[i]++;
            }
            unsigned char *r = got[i] <= messages ? mTryRecvMsg(i, out[i], &bytes, &err) : NULL;
            if (r) {
                if (got[i] < messages) {
                    int k;
                    memcpy(&k, r, sizeof k);
                    CHECK(bytes == 8 + got[i] * 37 % 993 && k == got[i] + i);
                    for (int b = 4; b < bytes; b++) CHECK(r[b] == (unsigned char)got[i]);
                } else {
                    long sum;
                    memcpy(&sum, r, sizeof sum);
                    CHECK(bytes == (int)sizeof sum && sum == (long)messages * (messages - 1) / 2);
                    done++;
                }
                mReleaseMsg(i, out[i], r, &err);
                CHECK(err == MQ_OK);
                got[i]++;
            }
        }
    }
    /* The slaves wait for one more message that does not come: they are told. */
    mWaitSlaveThreads(t);
    CHECK(!mIsSlaveAlive(cluster, 0));
    mDestroySlaveThreads(cluster, t);
    for (int i = 0; i < n; i++) {
        CHECK(mGetQueueMsgNum(i, in[i], &err) == 0 && mGetQueueMsgNum(i, out[i], &err) == 0);
        mDestroyQueue(i, in[i], &err);
        CHECK(err == MQ_OK);
        CHECK(mDiscardQueue(i, out[i], &err) == 0 && !mQueueExists(i, out[i]));
    }
    puts(failures ? "failed" : "passed");
    return failures != 0;
}
