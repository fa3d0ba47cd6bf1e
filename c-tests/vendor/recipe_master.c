/* One program for SW26010, MT-3000 and x86, built by runtime/mq/chip/Makefile: the master sends pieces of two vectors,
 * the slaves add them by hetmp/simd.h and return the sums. Prints one line, the same on every platform. */
#include "recipe.h"
#include <hetmp/mq.h>
#include <stdio.h>
#include <stdlib.h>

MQ_DECLARE_SLAVE(recipe_slave);

static void must(int right, const char *what) {
    if (!right) {
        printf("FAILED: %s\n", what);
        exit(1);
    }
}

int main(int argc, char **argv) {
    int err = 0, bytes = 0, n = 4, in[4], out[4];
    double sum = 0;
    if (argc > 1) must(mLoadSlaveImage(0, argv[1]) == MQ_OK, "mLoadSlaveImage");
    for (int s = 0; s < n; s++) {
        in[s] = mCreateQueue(0, "in", s, 2 * RECIPE_FLOATS * sizeof(float), 2, 2, NULL, SlaveScalarMem, MasterToSlave,
                             &err);
        must(err == MQ_OK, "the queue in");
        out[s] = mCreateQueue(0, "out", s, RECIPE_FLOATS * sizeof(float), 1, 1, NULL, SlaveScalarMem, SlaveToMaster,
                              &err);
        must(err == MQ_OK, "the queue out");
    }
    ThreadID threads = mStartSlaveThreads(0, n, MQ_SLAVE(recipe_slave), NULL);
    must(threads.m_num == n, "mStartSlaveThreads");
    for (int piece = 0; piece < RECIPE_PIECES; piece++) {
        for (int s = 0; s < n; s++) {
            float *ab = mAllocateMsg(s, in[s], &err);
            must(err == MQ_OK, "mAllocateMsg");
            for (int i = 0; i < RECIPE_FLOATS; i++) {
                ab[i] = (float)(piece + s);
                ab[RECIPE_FLOATS + i] = (float)(i % 100);
            }
            mSendMsg(s, in[s], ab, 2 * RECIPE_FLOATS * (int)sizeof(float), &err);
        }
        for (int s = 0; s < n; s++) {
            float *c = mRecvMsg(s, out[s], &bytes, &err);
            must(err == MQ_OK && bytes == RECIPE_FLOATS * (int)sizeof(float), "mRecvMsg");
            for (int i = 0; i < RECIPE_FLOATS; i++) {
                must(c[i] == (float)(piece + s + i % 100), "an element");
                sum += c[i];
            }
            mReleaseMsg(s, out[s], c, &err);
        }
    }
    mWaitSlaveThreads(threads);
    mDestroySlaveThreads(threads);
    printf("recipe: %d sums of %d floats on %d slaves, together %.0f, right\n", RECIPE_PIECES * n, RECIPE_FLOATS, n,
           sum);
    return 0;
}
