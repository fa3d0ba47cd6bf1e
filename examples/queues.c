/* A master sends a block of numbers to a slave, which sends their sum back. Messages are used in place.
 *
 *   gcc queues.c $(pkg-config --cflags --libs hetmp) -o queues
 *   HETMP_PLATFORM=sw26010,strict ./queues     # and where a chip would go wrong
 */
#include <hetmp/mq.h>
#include <stdio.h>

enum { N = 512, BYTES = N * sizeof(double) };

static void slave(void *arg)
{
    int err, bytes, in = sGetQueueHandle("in", &err), out = sGetQueueHandle("out", &err);
    (void)arg;
    double *numbers = sRecvMsg(in, &bytes, &err), *sum = sAllocateMsg(out, &err);
    sum[0] = 0;
    for (int i = 0; i < N; i++)
        sum[0] += numbers[i];
    sReleaseMsg(in, numbers, &err);
    sSendMsg(out, sum, sizeof *sum, &err);
}

int main(void)
{
    int err, bytes;
    int in = mCreateQueue(0, "in", 0, BYTES, 2, 2, NULL, SlaveScalarMem, MasterToSlave, &err);
    int out = mCreateQueue(0, "out", 0, BYTES, 2, 2, NULL, SlaveScalarMem, SlaveToMaster, &err);
    ThreadID threads = mStartSlaveThreads(0, 1, (void *)slave, NULL);
    double *numbers = mAllocateMsg(0, in, &err);
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    mSendMsg(0, in, numbers, BYTES, &err);
    double *sum = mRecvMsg(0, out, &bytes, &err);
    printf("the sum is %.0f\n", sum[0]);
    mReleaseMsg(0, out, sum, &err);
    mWaitSlaveThreads(threads);
    mDestroySlaveThreads(threads);
}
