/* A strict platform ends the program where the wrong side touches memory, and says who, what and where.
 * Argument: slot (a slave reads the master's slot), master (the master reads a slot it has sent), store (a slave runs over
 * the end of its store). */
#include "mq_check.h"

static volatile char *slot;

static void slave(void *arg) {
    int err;
    if (!strcmp(arg, "store")) {
        size_t n = sGetLocalMemFree(SlaveScalarMem);
        volatile char *p = sMalloc(SlaveScalarMem, n, &err);
        p[n] = 1; /* LINE store */
    }
    if (!strcmp(arg, "slot")) slot[1] = 2; /* LINE slot */
}

int main(int argc, char **argv) {
    int err;
    char *what = argc > 1 ? argv[1] : "";
    int h = mCreateQueue(0, "q", 0, 64, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err);
    slot = mAllocateMsg(0, h, &err);
    slot[0] = 1;
    mSendMsg(0, h, (void *)slot, 64, &err);
    if (!strcmp(what, "master")) slot[0] = 3; /* LINE master */
    ThreadID t = mStartSlaveThreads(0, 1, (void *)slave, what);
    mWaitSlaveThreads(t);
    puts("passed");
    return 0;
}
