// The header in C++: a function as it is, both forms of waiting, and the inline paths.
#include "mq_check.h"

extern "C" void slave(void *arg) {
    int err, bytes, h = sGetQueueHandle("q", &err);
    for (long want = 0; want < 1000; want++) {
        long *p = static_cast<long *>(sRecvMsg(h, &bytes, &err));
        CHECK(p && *p == want && bytes == sizeof(long));
        sReleaseMsg(h, p, &err);
    }
    *static_cast<int *>(arg) = 1;
}

int main() {
    int err, done = 0;
    int h = mCreateQueue(0, "q", 0, sizeof(long), 4, 4, nullptr, SlaveScalarMem, MasterToSlave, &err);
    ThreadID t = mStartSlaveThreads(0, 1, slave, &done);
    for (long i = 0; i < 1000; i++) {
        long *p = static_cast<long *>(mAllocateMsg(0, h, &err));
        *p = i;
        mSendMsg(0, h, p, sizeof(long), &err);
    }
    mWaitSlaveThreads(0, t);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    CHECK(done == 1);
    return check_end();
}
