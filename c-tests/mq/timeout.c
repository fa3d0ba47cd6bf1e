/* HETMP_MQ_TIMEOUT: a slave that computes forever costs the master a named error, not a hang. */
#include "mq_check.h"
#include <unistd.h>

static int stop;

static void computes(void *arg) {
    (void)arg;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) usleep(1000);
}

int main(void) {
    int err, bytes;
    int down = mCreateQueue(0, "down", 0, 8, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err);
    int up = mCreateQueue(0, "up", 0, 8, 1, 1, NULL, SlaveScalarMem, SlaveToMaster, &err);
    ThreadID t = mStartSlaveThreads(0, 1, (void *)computes, NULL);
    CHECK(mRecvMsg(0, up, &bytes, &err) == NULL && err == MQ_TIMED_OUT);
    void *p;
    while ((p = mAllocateMsg(0, down, &err))) mSendMsg(0, down, p, 8, &err);
    CHECK(err == MQ_TIMED_OUT);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    return check_end();
}
