/* The slaves of vendor_master.c. */
#include <hetmp/mq.h>
#if defined(MT3_VERSION)
#include "hthread_device.h"
#endif
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* There is nowhere to print on a chip: a failed check ends the program. */
#define MUST(c) ((c) ? (void)0 : abort())

MQ_SLAVE_FUNCTION(echo, unused) {
    int err = -1, bytes = 0;
    long sum = 0;
    (void)unused;
    int in = sGetQueueHandle("in", &err), out = sGetQueueHandle("out", &err);
    MUST(in >= 0 && out >= 0 && sGetQueueHandle("none", &err) == -1 && err == MQ_NO_SUCH_QUEUE);
    MUST(sGetQueueMsgSize(in, &err) == 1000 && sGetQueueDirection(out, &err) == SlaveToMaster);
    MUST(sGetSlaveId() >= 0 && sGetLocalMemSize(SlaveScalarMem) >= 65536);
    MUST(sAllocateMsg(in, &err) == NULL && err == MQ_WRONG_DIRECTION);
    for (;;) {
        char *m = sRecvMsg(in, &bytes, &err);
        MUST(m && err == MQ_OK && (uintptr_t)m % 64 == 0);
        char *r = sAllocateMsg(out, &err);
        MUST(r && err == MQ_OK && (uintptr_t)r % 64 == 0);
        if (bytes == 0) {
            memcpy(r, &sum, sizeof sum);
            sSendMsg(out, r, (int)sizeof sum, &err);
            sReleaseMsg(in, m, &err);
            break;
        }
        int k;
        memcpy(&k, m, sizeof k);
        sum += k;
        memcpy(r, m, (size_t)bytes);
        k += sGetSlaveId();
        memcpy(r, &k, sizeof k);
        sSendMsg(out, r + 8, bytes, &err);
        MUST(err == MQ_FOREIGN_MESSAGE);
        sSendMsg(out, r, bytes, &err);
        MUST(err == MQ_OK);
        sReleaseMsg(in, m, &err);
        MUST(err == MQ_OK);
    }
    size_t left = sGetLocalMemFree(SlaveArrayMem);
    void *block = sMalloc(SlaveArrayMem, 512, &err);
    MUST(block && err == MQ_OK && (uintptr_t)block % 64 == 0 && sGetLocalMemFree(SlaveArrayMem) <= left - 512);
    memset(block, 1, 512);
    sFree(block, &err);
    MUST(err == MQ_OK && sGetLocalMemFree(SlaveArrayMem) == left);
    MUST(sMalloc(SlaveArrayMem, left + 1, &err) == NULL && err == MQ_NO_LOCAL_MEMORY);
#if defined(AVX_VERSION)
    /* Here a slave is a thread, and could reach the master's functions. They know. */
    MUST(mTryAllocateMsg(sGetSlaveId(), in, &err) == NULL && err == MQ_NOT_THE_MASTER);
    MUST(mGetQueueHandle(sGetSlaveId(), "in", &err) == -1 && err == MQ_NOT_THE_MASTER);
    MUST(mCreateQueue(0, "late", 0, 8, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err) == -1 &&
         err == MQ_NOT_THE_MASTER);
    MUST(sGetSimdWidth() == (__builtin_cpu_supports("avx512f") ? 512 : __builtin_cpu_supports("avx2") ? 256 : 128));
#endif
    MUST(sMalloc(SlaveScalarMem, 1 << 30, &err) == NULL && err == MQ_NO_LOCAL_MEMORY);
    MUST(sTryRecvMsg(in, &bytes, &err) == NULL && err == MQ_WOULD_BLOCK);
    MUST(sRecvMsg(in, &bytes, &err) == NULL && err == MQ_DEADLOCK);
}
