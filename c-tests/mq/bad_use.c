/* Every misuse is a named error or one line, and nothing hangs. */
#include "mq_check.h"
#include <pthread.h>
#include <time.h>

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int create(const char *name, int slave, size_t bytes, int m, int s, int dir, int *err) {
    return mCreateQueue(0, name, slave, bytes, m, s, NULL, SlaveScalarMem, (QueueDirection)dir, err);
}

static void creation(void) {
    int err = -1;
    CHECK(mCreateQueue(99, "q", 0, 8, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err) == -1 && err == MQ_BAD_CLUSTER);
    CHECK(mCreateQueue(-1, "q", 0, 8, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err) == -1 && err == MQ_BAD_CLUSTER);
    CHECK(create("q", 100000, 8, 1, 1, 0, &err) == -1 && err == MQ_BAD_SLAVE);
    CHECK(create("q", -1, 8, 1, 1, 0, &err) == -1 && err == MQ_BAD_SLAVE);
    CHECK(create("q", 0, 0, 1, 1, 0, &err) == -1 && err == MQ_BAD_SIZE);
    CHECK(create("q", 0, (size_t)1 << 40, 1, 1, 0, &err) == -1 && err == MQ_BAD_SIZE);
    CHECK(create("q", 0, 8, 0, 1, 0, &err) == -1 && err == MQ_BAD_SLOTS);
    CHECK(create("q", 0, 8, 1, 0, 0, &err) == -1 && err == MQ_BAD_SLOTS);
    CHECK(create("q", 0, 8, 1, -5, 0, &err) == -1 && err == MQ_BAD_SLOTS);
    CHECK(create(NULL, 0, 8, 1, 1, 0, &err) == -1 && err == MQ_BAD_NAME);
    CHECK(create("", 0, 8, 1, 1, 0, &err) == -1 && err == MQ_BAD_NAME);
    CHECK(create("0123456789012345678901234567890123456789012345678901234567890123456789", 0, 8, 1, 1, 0, &err) == -1 &&
          err == MQ_BAD_NAME);
    CHECK(create("q", 0, 8, 1, 1, 2, &err) == -1 && err == MQ_BAD_DIRECTION);
    CHECK(mCreateQueue(0, "q", 0, 8, 1, 1, NULL, (SlaveMemKind)7, MasterToSlave, &err) == -1 && err == MQ_BAD_KIND);
    CHECK(mCreateQueue(0, "q", 0, 8, 1, 1, (char *)64 + 1, SlaveScalarMem, MasterToSlave, &err) == -1 &&
          err == MQ_BAD_ADDRESS);
    /* Larger than the store, alone and together. */
    size_t store = mGetLocalMemSize(SlaveScalarMem);
    CHECK(create("q", 0, store + 1, 1, 1, 0, &err) == -1 && err == MQ_NO_LOCAL_MEMORY);
    int h = create("half", 0, store / 2, 1, 1, 0, &err);
    CHECK(h == 0 && err == MQ_OK && mGetLocalMemFree(0, 0, SlaveScalarMem) == store / 2);
    CHECK(create("more", 0, store / 2 + 64, 1, 1, 0, &err) == -1 && err == MQ_NO_LOCAL_MEMORY);
    CHECK(create("half", 0, 8, 1, 1, 0, &err) == -1 && err == MQ_NAME_IN_USE);
    CHECK(create("half", 1, 8, 1, 1, 0, &err) == 0 && err == MQ_OK);
    mDestroyQueue(1, 0, &err);
    mDestroyQueue(0, h, &err);
    CHECK(err == MQ_OK && mGetLocalMemFree(0, 0, SlaveScalarMem) == store);
    mDestroyQueue(0, h, &err);
    CHECK(err == MQ_NO_SUCH_QUEUE);
    /* A destroyed queue's handle is nobody else's. */
    CHECK(create("half", 0, 8, 1, 1, 0, &err) != h);
    CHECK(mGetQueueHandle(0, "half", &err) != h && err == MQ_OK);
    mDestroyQueue(0, mGetQueueHandle(0, "half", &err), &err);
    CHECK(!strcmp(mqErrorName(MQ_NO_LOCAL_MEMORY), "MQ_NO_LOCAL_MEMORY") &&
          strlen(mqErrorText(MQ_NO_LOCAL_MEMORY)) > 5);
    CHECK(!strcmp(mqErrorName(0), "MQ_OK") && mqErrorName(12345) && mqErrorText(-3));
}

static void messages(void) {
    int err = -1, bytes;
    char other[64];
    int h = create("m", 2, 64, 2, 1, 0, &err), g = create("s", 2, 64, 1, 1, 1, &err);
    CHECK(mAllocateMsg(2, 77, &err) == NULL && err == MQ_NO_SUCH_QUEUE);
    CHECK(mAllocateMsg(-2, h, &err) == NULL && err == MQ_BAD_SLAVE);
    CHECK(mAllocateMsg(2, g, &err) == NULL && err == MQ_WRONG_DIRECTION);
    CHECK(mRecvMsg(2, h, &bytes, &err) == NULL && err == MQ_WRONG_DIRECTION);
    char *a = mAllocateMsg(2, h, &err);
    char *b = mAllocateMsg(2, h, &err);
    CHECK(a && b && a != b);
    mSendMsg(2, h, a, 65, &err);
    CHECK(err == MQ_TOO_LONG);
    mSendMsg(2, h, a, -1, &err);
    CHECK(err == MQ_TOO_LONG);
    mSendMsg(2, h, b, 64, &err);
    CHECK(err == MQ_OUT_OF_ORDER);
    mSendMsg(2, h, other, 64, &err);
    CHECK(err == MQ_FOREIGN_MESSAGE);
    mSendMsg(2, h, a + 1, 64, &err);
    CHECK(err == MQ_FOREIGN_MESSAGE);
    mSendMsg(2, h, NULL, 64, &err);
    CHECK(err == MQ_BAD_ADDRESS);
    mReleaseMsg(2, h, a, &err);
    CHECK(err == MQ_WRONG_DIRECTION);
    mSendMsg(2, h, a, 64, &err);
    CHECK(err == MQ_OK);
    mSendMsg(2, h, a, 64, &err);
    CHECK(err == MQ_FOREIGN_MESSAGE);
    mSendMsg(2, h, b, 0, &err);
    CHECK(err == MQ_OK && mGetQueueMsgNum(2, h, &err) == 2);
    /* With messages in it a queue is not destroyed by mistake. */
    mDestroyQueue(2, h, &err);
    CHECK(err == MQ_NOT_EMPTY && mQueueExists(2, h));
    /* Nobody will ever take them: a blocking call says so, as soon as there is no room. */
    double began = seconds();
    while (mAllocateMsg(2, h, &err)) {
    }
    CHECK(err == MQ_NO_SLAVE || err == MQ_ALL_HELD);
    CHECK(mRecvMsg(2, g, &bytes, &err) == NULL && err == MQ_NO_SLAVE);
    CHECK(seconds() - began < 5);
    CHECK(mDiscardQueue(2, h, &err) == 2 && err == MQ_OK);
    CHECK(mDiscardQueue(2, g, &err) == 0 && err == MQ_OK);
    CHECK(sAllocateMsg(0, &err) == NULL && err == MQ_NOT_A_SLAVE);
    CHECK(sRecvMsg(0, &bytes, &err) == NULL && err == MQ_NOT_A_SLAVE);
    CHECK(sMalloc(SlaveScalarMem, 8, &err) == NULL && err == MQ_NOT_A_SLAVE);
    CHECK(sGetSlaveId() == -1);
}

static int shared_handle;

static void *second_user(void *arg) {
    int err = -1;
    (void)arg;
    CHECK(mTryAllocateMsg(3, shared_handle, &err) == NULL && err == MQ_SECOND_USER);
    mAdoptQueue(3, shared_handle, &err);
    CHECK(err == MQ_OK && mTryAllocateMsg(3, shared_handle, &err) != NULL);
    return NULL;
}

static void two_producers(void) {
    int err = -1;
    pthread_t t;
    shared_handle = create("shared", 3, 16, 4, 4, 0, &err);
    CHECK(mAllocateMsg(3, shared_handle, &err) != NULL);
    pthread_create(&t, NULL, second_user, NULL);
    pthread_join(t, NULL);
    /* The adopting thread has ended: anybody may go on. */
    CHECK(mTryAllocateMsg(3, shared_handle, &err) != NULL && err == MQ_OK);
    CHECK(mDiscardQueue(3, shared_handle, &err) == 0);
}

/* A thread goes on finding the queue that it used last, and only as long as it is this thread's. */
static pthread_barrier_t step;
static int kept_handle;

static void use_twice(int slave, int handle) {
    int err = -1;
    for (int i = 0; i < 2; i++) {
        int *m = mTryAllocateMsg(slave, handle, &err);
        CHECK(m != NULL && err == MQ_OK);
        mSendMsg(slave, handle, m, 4, &err);
        CHECK(err == MQ_OK);
    }
}

static void *keeper(void *arg) {
    int err = -1;
    (void)arg;
    mAdoptQueue(4, kept_handle, &err);
    use_twice(4, kept_handle);
    pthread_barrier_wait(&step); /* the first user is refused */
    pthread_barrier_wait(&step); /* and takes it back */
    CHECK(mTryAllocateMsg(4, kept_handle, &err) == NULL && err == MQ_SECOND_USER);
    pthread_barrier_wait(&step);
    return NULL;
}

static void kept_rings(void) {
    int err = -1, many[40];
    pthread_t t;
    pthread_barrier_init(&step, NULL, 2);
    kept_handle = create("kept", 4, 16, 8, 8, 0, &err);
    use_twice(4, kept_handle);
    pthread_create(&t, NULL, keeper, NULL);
    pthread_barrier_wait(&step);
    CHECK(mTryAllocateMsg(4, kept_handle, &err) == NULL && err == MQ_SECOND_USER);
    CHECK(mTryAllocateMsg(4 + 256, kept_handle, &err) == NULL && err == MQ_BAD_SLAVE);
    mAdoptQueue(4, kept_handle, &err);
    use_twice(4, kept_handle);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    use_twice(4, kept_handle);
    pthread_join(t, NULL);
    CHECK(mDiscardQueue(4, kept_handle, &err) == 8);
    CHECK(mTryAllocateMsg(4, kept_handle, &err) == NULL && err == MQ_NO_SUCH_QUEUE);
    /* Its memory serves the next queue, its handle does not. */
    many[0] = create("kept", 4, 16, 8, 8, 0, &err);
    use_twice(4, many[0]);
    CHECK(mTryAllocateMsg(4, kept_handle, &err) == NULL && err == MQ_NO_SUCH_QUEUE);
    mSendMsg(4, kept_handle, &err, 4, &err);
    CHECK(err == MQ_NO_SUCH_QUEUE);
    CHECK(mDiscardQueue(4, many[0], &err) == 2);
    /* More than are kept. */
    for (int i = 0; i < 40; i++) {
        char name[8];
        snprintf(name, sizeof name, "k%d", i);
        many[i] = create(name, i % 5, 16, 4, 4, 0, &err);
    }
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < 40; i++) use_twice(i % 5, many[i]);
    for (int i = 0; i < 40; i++) CHECK(mDiscardQueue(i % 5, many[i], &err) == 4);
}

/* -- with slaves -- */

static void ends_at_once(void *arg) { (void)arg; }

static void leaves_by_pthread_exit(void *arg) {
    int err;
    int *m = sAllocateMsg(sGetQueueHandle("up", &err), &err);
    *m = 7;
    sSendMsg(sGetQueueHandle("up", &err), m, 4, &err);
    pthread_exit(arg);
}

static void never_reads(void *arg) {
    /* Waits for the other queue, which the master never fills. */
    int err, bytes;
    (void)arg;
    void *m = sRecvMsg(sGetQueueHandle("other", &err), &bytes, &err);
    CHECK(m == NULL && err == MQ_DEADLOCK);
}

static void holds_all(void *arg) {
    int err = MQ_OK, n = 0, bytes;
    (void)arg;
    int h = sGetQueueHandle("down", &err);
    while (sRecvMsg(h, &bytes, &err)) n++;
    CHECK(n >= 1 && (err == MQ_ALL_HELD || err == MQ_DEADLOCK));
    CHECK(mAllocateMsg(0, 0, &err) == NULL && err == MQ_NOT_THE_MASTER);
    CHECK(mCreateQueue(0, "x", 0, 8, 1, 1, NULL, SlaveScalarMem, MasterToSlave, &err) == -1 &&
          err == MQ_NOT_THE_MASTER);
}

static void waits_for_destroyed(void *arg) {
    int err = MQ_OK, bytes;
    (void)arg;
    CHECK(sRecvMsg(sGetQueueHandle("down", &err), &bytes, &err) == NULL);
    CHECK(err == MQ_DESTROYED || err == MQ_NO_SUCH_QUEUE);
}

static void store(void *arg) {
    int err = MQ_OK;
    (void)arg;
    size_t size = sGetLocalMemSize(SlaveScalarMem);
    CHECK(sMalloc(SlaveScalarMem, size + 1, &err) == NULL && err == MQ_NO_LOCAL_MEMORY);
    CHECK(sMalloc(5, 8, &err) == NULL && err == MQ_BAD_KIND);
    char *p = sMalloc(SlaveScalarMem, size / 2, &err);
    CHECK(p && sGetLocalMemFree(SlaveScalarMem) == size / 2);
    memset(p, 1, size / 2);
    CHECK(sMalloc(SlaveScalarMem, size / 2 + 1, &err) == NULL && err == MQ_NO_LOCAL_MEMORY);
    sFree(p + 64, &err);
    CHECK(err == MQ_FOREIGN_MESSAGE);
    sFree(p, &err);
    CHECK(err == MQ_OK && sGetLocalMemFree(SlaveScalarMem) == size);
    volatile int reply = 0;
    char *master = arg, *local = sMalloc(SlaveScalarMem, 256, &err);
    sDmaGet(local, master, 256, &reply, &err);
    sDmaWait(&reply, 1);
    CHECK(reply == 1 && !memcmp(local, master, 256));
    local[3] = 99;
    sDmaPut(master, local, 256, &reply, &err);
    sDmaWait(&reply, 2);
    CHECK(master[3] == 99 && sDmaTest(&reply, 2));
    sDmaGet(NULL, master, 8, &reply, &err);
    CHECK(err == MQ_BAD_ADDRESS);
    long word = 0;
    sDirectWrite(master, &word, 8);
    sDirectRead(&word, master + 8, 8);
    /* Not given back: the store is whole again when the slave has ended. */
}

static ThreadID start(void (*f)(void *), void *arg) {
    ThreadID t = mStartSlaveThreads(0, 1, (void *)f, arg);
    CHECK(t.m_num == 1);
    return t;
}

static void with_slaves(void) {
    int err = -1, bytes = 0;
    double began = seconds();
    int down = create("down", 0, 8, 2, 2, 0, &err), up = create("up", 0, 8, 2, 2, 1, &err);
    int other = create("other", 0, 8, 1, 1, 0, &err);

    ThreadID t = start(ends_at_once, NULL);
    CHECK(mRecvMsg(0, up, &bytes, &err) == NULL && err == MQ_NO_SLAVE);
    mWaitSlaveThreads(t);
    mWaitSlaveThreads(0, t); /* a second wait is none */
    mDestroySlaveThreads(t);

    t = start(leaves_by_pthread_exit, NULL);
    int *m = mRecvMsg(0, up, &bytes, &err);
    CHECK(m && *m == 7 && bytes == 4);
    mReleaseMsg(0, up, m, &err);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);

    /* The master waits for room, the slave for the other queue: both are told. */
    t = start(never_reads, NULL);
    for (int i = 0; i < 100; i++) {
        void *p = mAllocateMsg(0, down, &err);
        if (!p) break;
        mSendMsg(0, down, p, 8, &err);
    }
    CHECK(err == MQ_DEADLOCK);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    CHECK(mGetQueueMsgNum(0, down, &err) >= 2);

    t = start(holds_all, NULL);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    CHECK(mStartSlaveThreads(0, 0, (void *)ends_at_once, NULL).m_num == 0);
    CHECK(mStartSlaveThreads(99, 1, (void *)ends_at_once, NULL).m_num == 0);
    CHECK(mStartSlaveThreads(0, 1, NULL, NULL).m_num == 0);
    CHECK(mDiscardQueue(0, down, &err) >= 1 && err == MQ_OK);

    down = create("down", 0, 8, 2, 2, 0, &err);
    t = start(waits_for_destroyed, NULL);
    CHECK(mStartSlaveThreads(0, 1, (void *)ends_at_once, NULL).m_num == 0); /* runs already */
    CHECK(mDiscardQueue(0, down, &err) == -1 && err == MQ_SLAVES_RUNNING);
    mDestroyQueue(0, down, &err);
    CHECK(err == MQ_OK);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);

    mDestroyQueue(0, up, &err);
    mDestroyQueue(0, other, &err);
    CHECK(err == MQ_OK);
    char *memory = malloc(256);
    for (int i = 0; i < 256; i++) memory[i] = (char)i;
    t = start(store, memory);
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    CHECK(mGetLocalMemFree(0, 0, SlaveScalarMem) == mGetLocalMemSize(SlaveScalarMem));
    free(memory);
    /* Gone: one line each on standard error. */
    mWaitSlaveThreads(t);
    mDestroySlaveThreads(t);
    CHECK(seconds() - began < 20);
}

int main(void) {
    creation();
    messages();
    two_producers();
    kept_rings();
    with_slaves();
    CHECK(mLoadSlaveImage(0, "/no/such/image") == MQ_BAD_IMAGE && mSlaveFunction("no_such_function") == NULL);
    /* Without err: one line each. */
    mDestroyQueue(0, 4000, NULL);
    mAllocateMsg(0, 4000, NULL);
    mCreateQueue(0, "q", 0, 8, 0, 1, NULL, SlaveScalarMem, MasterToSlave, NULL);
    return check_end();
}
