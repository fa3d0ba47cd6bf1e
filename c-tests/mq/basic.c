/* The whole life of queues in both directions: names, handles as in the paper's table, allocate, send, receive,
 * release, Try forms, batches, status, and every slave started. hetmp-mq-test: slaves=1,2,5,64 */
#include "mq_check.h"

#define ROUNDS 500

struct task {
    int rounds;
};

static void slave(void *arg) {
    struct task *task = arg;
    int err = -1, bytes = 0;
    int in = sGetQueueHandle("Input", &err);
    CHECK(err == MQ_OK);
    int out = sGetQueueHandle("Output", &err);
    CHECK(err == MQ_OK && in == 0 && out == 1);
    CHECK(sGetQueueHandle("nothing", &err) == -1 && err == MQ_NO_SUCH_QUEUE);
    CHECK(sGetQueueMsgSize(in, &err) == 40 && sGetQueueDirection(out, &err) == SlaveToMaster);
    CHECK(sGetSlaveId() >= 0 && sGetClusterId() == 0 && sQueueExists(in) && !sQueueExists(77));
    for (int i = 0; i < task->rounds; i++) {
        const int *m = sRecvMsg(in, &bytes, &err);
        CHECK(m && err == MQ_OK && bytes == 40 - i % 8);
        int sum = 0;
        for (int k = 0; k < 8; k++) sum += m[k];
        sReleaseMsg(in, (void *)m, &err);
        CHECK(err == MQ_OK);
        int *r = sAllocateMsg(out, &err);
        CHECK(r && err == MQ_OK);
        r[0] = sum;
        r[1] = sGetSlaveId();
        sSendMsg(out, r, 8, &err);
        CHECK(err == MQ_OK);
    }
    /* The paper's other spelling, on what is left: one message of length 0. */
    const void *last = sResvMsg(in, &bytes, &err);
    CHECK(last && bytes == 0);
    sReleaseMsg(in, (void *)last, &err);
    CHECK(sTryRecvMsg(in, &bytes, &err) == NULL && err == MQ_WOULD_BLOCK);
}

int main(int argc, char **argv) {
    int n = slaves(argc, argv), err = -1;
    struct task task = {ROUNDS};
    CHECK(mGetSlaveCoreNum(0) >= 1 && mGetClusterNum() >= 1 && mGetSlaveCoreNum(99) == 0);
    CHECK(mGetMaxSlaveCoreNum(0) >= mGetSlaveCoreNum(0));
    CHECK(mGetLocalMemSize(SlaveScalarMem) >= 1024 && mGetSimdWidth() >= 128);
    for (int i = 0; i < n; i++) {
        CHECK(mCreateQueue(0, "Input", i, 40, 2, 2, NULL, SlaveScalarMem, MasterToSlave, &err) == 0 && err == MQ_OK);
        CHECK(mCreateQueue(0, "Output", i, 40, 2, 2, NULL, SlaveScalarMem, SlaveToMaster, &err) == 1 && err == MQ_OK);
        CHECK(mGetQueueHandle(i, "Output", &err) == 1 && mQueueExists(i, 1) && !mQueueExists(i, 2));
        CHECK(mGetQueueMsgNum(i, 0, &err) == 0 && mGetQueueDirection(i, 0, &err) == MasterToSlave);
        CHECK(mTryRecvMsg(i, 1, NULL, &err) == NULL && err == MQ_WOULD_BLOCK);
    }
    ThreadID t = mStartSlaveThreads(0, n, (void *)slave, &task);
    CHECK(t.m_num == n);
    for (int r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < n; i++) {
            int *m = mAllocateMsg(i, 0, &err);
            CHECK(m && err == MQ_OK);
            for (int k = 0; k < 8; k++) m[k] = r * k + i;
            mSendMsg(i, 0, m, 40 - r % 8, &err);
            CHECK(err == MQ_OK);
        }
        for (int i = 0; i < n; i++) {
            int bytes = 0;
            int *m = mRecvMsg(i, 1, &bytes, &err);
            CHECK(m && bytes == 8 && m[0] == 28 * r + 8 * i && m[1] == i);
            mReleaseMsg(i, 1, m, &err);
            CHECK(err == MQ_OK);
        }
    }
    for (int i = 0; i < n; i++) {
        void *m = mAllocateMsg(i, 0, &err);
        mSendMsg(i, 0, m, 0, &err);
    }
    mWaitSlaveThreads(t);
    for (int i = 0; i < n; i++) CHECK(!mIsSlaveAlive(0, i));
    mDestroySlaveThreads(0, t);
    for (int i = 0; i < n; i++) {
        mDestroyQueue(i, 0, &err);
        CHECK(err == MQ_OK);
        mDestroyQueue(i, 1, &err);
        CHECK(err == MQ_OK && !mQueueExists(i, 0));
    }
    return check_end();
}
