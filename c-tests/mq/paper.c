/* The paper's example (section 2.2), completed where the page breaks off: it asks cluster 1 for the number of slaves
 * and starts cluster 0. The queues' cluster, which the page calls c_id, is 0, or the program's argument: on x86, which
 * has one memory, slaves of cluster 0 find queues of cluster 1, too. */
#include "mq_check.h"

#define M 64

static int n_total, c_id;

static void *slave_sum_calc_by_slave_core(void *arg) {
    int err, bytes, cn = sGetSlaveCoreNum(), sn = n_total / cn;
    int in = sGetQueueHandle("Input", &err), out = sGetQueueHandle("Output", &err), sum = 0;
    for (int done = 0; done < sn;) {
        int *addr = (int *)sResvMsg(in, &bytes, &err);
        CHECK(addr && err == MQ_OK);
        if (!addr) return arg;
        for (int k = 0; k < bytes / (int)sizeof(int); k++) sum += addr[k];
        done += bytes / (int)sizeof(int);
        sReleaseMsg(in, addr, &err);
    }
    int *result = (int *)sAllocateMsg(out, &err);
    *result = sum;
    sSendMsg(out, result, sizeof(int), &err);
    return arg;
}

static int sum_calc(const int *a, int n) {
    int cluster_id = 1, err0, err1, sum = 0;
    int cn = mGetSlaveCoreNum(cluster_id);
    int sn = n / cn;
    int handle0[256], handle1[256];
    for (int i = 0; i < cn; i++) {
        handle0[i] = mCreateQueue(c_id, "Input", i, M * sizeof(int), 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err0);
        handle1[i] = mCreateQueue(c_id, "Output", i, M * sizeof(int), 1, 1, NULL, SlaveScalarMem, SlaveToMaster, &err1);
        CHECK(handle0[i] == 0 && handle1[i] == 1);
    }
    ThreadID tid = mStartSlaveThreads(0, cn, (void *)slave_sum_calc_by_slave_core, NULL);
    for (int j = 0; j < sn; j += M)
        for (int i = 0; i < cn; i++) {
            int *addr = (int *)mAllocateMsg(i, handle0[i], &err0);
            int len = (int)((j + M < sn ? M : sn - j) * (int)sizeof(int));
            memcpy(addr, &a[i * sn + j], (size_t)len);
            mSendMsg(i, handle0[i], addr, len, &err0);
        }
    for (int i = 0; i < cn; i++) {
        int *ret_ptr;
        int sum_size;
        ret_ptr = (int *)mRecvMsg(i, handle1[i], &sum_size, &err1);
        sum += *ret_ptr;
        mReleaseMsg(i, handle1[i], ret_ptr, &err1);
    }
    mWaitSlaveThreads(tid);
    mDestroySlaveThreads(tid);
    return sum;
}

int main(int argc, char **argv) {
    c_id = argc > 1 ? atoi(argv[1]) : 0;
    n_total = mGetSlaveCoreNum(1) * 1000;
    int *a = (int *)malloc(sizeof(int) * (size_t)n_total), want = 0;
    for (int i = 0; i < n_total; i++) want += a[i] = i % 97;
    CHECK(sum_calc(a, n_total) == want);
    free(a);
    return check_end();
}
