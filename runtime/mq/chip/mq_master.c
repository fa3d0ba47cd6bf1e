/* The master's half: libMHMessQueue.a. See mq_chip.h. */
#define _GNU_SOURCE
#include "mq_chip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- What differs between the thread libraries -------------------------------------------------------- */

#if defined(SW5_VERSION)
#include <athread.h>
extern void SLAVE_FUN(hetmp_mq_slave_main)(void *);

static void *mq_memory(int cluster, size_t bytes) {
    (void)cluster;
    return calloc(1, bytes);
}
static void mq_memory_free(void *p) { free(p); }

#elif defined(MT3_VERSION)
#include "hthread_host.h"

static int mq_opened[MQ_CLUSTERS];

static int mq_open(int cluster) {
    if (!mq_opened[cluster]) {
        if (hthread_dev_open(cluster) != 0) return 0;
        mq_opened[cluster] = 1;
    }
    return 1;
}
/* Slaves reach only what hThread allocated. */
static void *mq_memory(int cluster, size_t bytes) {
    if (!mq_open(cluster)) return NULL;
    void *p = hthread_malloc(cluster, bytes, HT_MEM_RW);
    if (p) memset(p, 0, bytes);
    return p;
}
static void mq_memory_free(void *p) { hthread_free(p); }

#else
#include <pthread.h>
#include <sched.h>
extern void *hetmp_mq_slave_main(void *);

static void *mq_memory(int cluster, size_t bytes) {
    (void)cluster;
    void *p = NULL;
    if (posix_memalign(&p, 64, MQ_ROUND(bytes, 64)) != 0) return NULL;
    memset(p, 0, bytes);
    return p;
}
static void mq_memory_free(void *p) { free(p); }
#endif

/* -- Tables ----------------------------------------------------------------------------------------------- */

static struct mq_table *mq_tables[MQ_CLUSTERS];

/* What one running group needs besides the rows. */
static struct mq_group {
    uint64_t id;
    int num;
    struct mq_start *start;
#if defined(MT3_VERSION)
    int hthread;
#elif !defined(SW5_VERSION)
    pthread_t threads[MQ_SLAVES];
#endif
    int joined;
} mq_groups[MQ_CLUSTERS];
static uint64_t mq_last_group;

static struct mq_table *mq_table_of(int cluster) {
    if (cluster < 0 || cluster >= MQ_CLUSTERS) return NULL;
    if (!mq_tables[cluster]) {
        mq_tables[cluster] = mq_memory(cluster, sizeof(struct mq_table));
        if (mq_tables[cluster]) mq_tables[cluster]->cluster = cluster;
    }
    return mq_tables[cluster];
}

/* Handles of one slave number differ between clusters by a multiple of MQ_QUEUES, so (slave, handle) is enough. */
static struct mq_queue *mq_find(int slave, int handle, struct mq_row **row, int *err) {
    int cluster = handle / MQ_QUEUES;
    if (MQ_ON_SLAVE()) return mq_fail(err, MQ_NOT_THE_MASTER), NULL;
    if (slave < 0 || slave >= MQ_SLAVES) return mq_fail(err, MQ_BAD_SLAVE), NULL;
    if (handle < 0 || cluster >= MQ_CLUSTERS || !mq_tables[cluster]) return mq_fail(err, MQ_NO_SUCH_QUEUE), NULL;
    struct mq_row *r = &mq_tables[cluster]->rows[slave];
    struct mq_queue *q = &r->queues[handle % MQ_QUEUES];
    if (!q->used) return mq_fail(err, MQ_NO_SUCH_QUEUE), NULL;
    if (row) *row = r;
    return q;
}

const char *mqErrorName(int err) {
    static const char *const names[] = {
        "MQ_OK", "MQ_WOULD_BLOCK", "MQ_BAD_CLUSTER", "MQ_BAD_SLAVE", "MQ_BAD_SIZE", "MQ_BAD_SLOTS", "MQ_BAD_NAME",
        "MQ_NAME_IN_USE", "MQ_BAD_KIND", "MQ_BAD_DIRECTION", "MQ_BAD_ADDRESS", "MQ_NO_LOCAL_MEMORY", "MQ_NO_MEMORY",
        "MQ_TOO_MANY_QUEUES", "MQ_NO_SUCH_QUEUE", "MQ_DESTROYED", "MQ_WRONG_DIRECTION", "MQ_SECOND_USER",
        "MQ_FOREIGN_MESSAGE", "MQ_OUT_OF_ORDER", "MQ_TOO_LONG", "MQ_NOT_EMPTY", "MQ_ALL_HELD", "MQ_NO_SLAVE",
        "MQ_DEADLOCK", "MQ_TIMED_OUT", "MQ_NOT_A_SLAVE", "MQ_NOT_THE_MASTER", "MQ_BAD_COUNT", "MQ_SLAVES_RUNNING",
        "MQ_NO_SUCH_THREADS", "MQ_BAD_IMAGE"};
    return err >= 0 && (size_t)err < sizeof names / sizeof *names ? names[err] : "unknown";
}

const char *mqErrorText(int err) { return mqErrorName(err); }

int mGetSlaveCoreNum(int cluster) { return cluster >= 0 && cluster < MQ_CLUSTERS ? MQ_SLAVE_NUM : 0; }
int mGetMaxSlaveCoreNum(int cluster) { return mGetSlaveCoreNum(cluster); }
int mGetClusterNum(void) { return MQ_CLUSTERS; }
size_t mGetLocalMemSize(int kind) { return mq_is_kind(kind) ? MQ_STORE_BYTES(kind) : 0; }
int mGetSimdWidth(void) { return MQ_SIMD_BITS; }
const char *mGetPlatform(void) { return MQ_PLATFORM; }

size_t mGetLocalMemFree(int cluster, int slave, int kind) {
    struct mq_table *t = mq_table_of(cluster);
    if (!t || slave < 0 || slave >= MQ_SLAVE_NUM || !mGetLocalMemSize(kind)) return 0;
    return MQ_STORE_BYTES(kind) - *mq_taken(t, slave, kind);
}

/* -- Slave threads ------------------------------------------------------------------------------------------- */

int mIsSlaveAlive(int cluster, int slave) {
    if (cluster < 0 || cluster >= MQ_CLUSTERS || !mq_tables[cluster] || slave < 0 || slave >= MQ_SLAVES) return 0;
    return MQ_LOAD(mq_tables[cluster]->rows[slave].alive) == 1;
}

ThreadID mStartSlaveThreads(int cluster, int n, void *fn, void *arg) {
    ThreadID t = {cluster, 0, 0};
    struct mq_table *table = mq_table_of(cluster);
    struct mq_group *g = table && !MQ_ON_SLAVE() ? &mq_groups[cluster] : NULL;
    if (!g || n < 1 || n > MQ_SLAVE_NUM || !fn || g->num) {
        fprintf(stderr,
                "hetmp: mStartSlaveThreads cluster %d slaves %d: not possible (expected the master, a cluster below %d "
                "whose slaves do not run, 1 to "
                "%d slaves, and a function)\n",
                cluster, n, MQ_CLUSTERS, MQ_SLAVE_NUM);
        return t;
    }
    struct mq_start *s = mq_memory(cluster, sizeof *s);
    if (!s) return t;
    s->table = table;
    s->argument = arg;
    table->joining = 0;
    for (int i = 0; i < n; i++) MQ_STORE(table->rows[i].alive, 1);
    int started = 0;
#if defined(SW5_VERSION)
    s->function = (void (*)(void *))fn;
    if (athread_init() >= 0) {
        athread_set_num_threads(n);
        started = athread_spawn(hetmp_mq_slave_main, s) >= 0 ? n : 0;
    }
#elif defined(MT3_VERSION)
    /* fn is the kernel's name (MQ_SLAVE in hetmp/mq.h); it is passed what MQ_SLAVE_FUNCTION takes. */
    uint64_t args[2] = {(uint64_t)(uintptr_t)s, (uint64_t)(uintptr_t)arg};
    g->hthread = mq_open(cluster) ? hthread_group_create(cluster, n) : -1;
    if (g->hthread >= 0) started = hthread_group_exec(g->hthread, (const char *)fn, 0, 2, args) == 0 ? n : 0;
#else
    s->function = (void (*)(void *))fn;
    struct mq_start *each = mq_memory(cluster, sizeof *each * MQ_SLAVES);
    if (each) {
        mq_memory_free(s);
        s = each;
        for (; started < n; started++) {
            each[started].table = table;
            each[started].function = (void (*)(void *))fn;
            each[started].argument = arg;
            each[started].number = started;
            if (pthread_create(&g->threads[started], NULL, hetmp_mq_slave_main, &each[started]) != 0) break;
        }
    }
#endif
    for (int i = started; i < n; i++) MQ_STORE(table->rows[i].alive, 0);
    if (started == 0) {
        mq_memory_free(s);
        fprintf(stderr, "hetmp: mStartSlaveThreads cluster %d slaves %d: the chip's thread library refused\n", cluster,
                n);
        return t;
    }
    g->id = ++mq_last_group;
    g->num = started;
    g->start = s;
    g->joined = 0;
    t.m_num = started;
    t.m_thread_id = g->id;
    return t;
}

static struct mq_group *mq_group_of(ThreadID t, const char *call) {
    if (t.m_cluster >= 0 && t.m_cluster < MQ_CLUSTERS && t.m_thread_id && mq_groups[t.m_cluster].id == t.m_thread_id)
        return &mq_groups[t.m_cluster];
    fprintf(stderr, "hetmp: %s cluster %d group %llu: not usable (expected what mStartSlaveThreads returned)\n", call,
            t.m_cluster, (unsigned long long)t.m_thread_id);
    return NULL;
}

#undef mWaitSlaveThreads
#undef mDestroySlaveThreads

void mWaitSlaveThreads(int cluster, ThreadID t) {
    struct mq_group *g = mq_group_of(t, "mWaitSlaveThreads");
    (void)cluster;
    if (!g || g->joined) return;
    MQ_STORE(mq_tables[t.m_cluster]->joining, 1);
#if defined(SW5_VERSION)
    athread_join();
#elif defined(MT3_VERSION)
    hthread_group_wait(g->hthread);
#else
    for (int i = 0; i < g->num; i++) pthread_join(g->threads[i], NULL);
#endif
    g->joined = 1;
    for (int i = 0; i < g->num; i++) {
        struct mq_row *row = &mq_tables[t.m_cluster]->rows[i];
        MQ_STORE(row->alive, 2);
        for (mq_word k = 0; k < row->count; k++)
            if (row->queues[k].used && MQ_LOAD(row->queues[k].in_store)) {
                fprintf(stderr,
                        "hetmp: queue \"%s\" of slave %d: %d messages were in its local store when it ended (expected "
                        "a master that receives "
                        "or a slave that releases them before)\n",
                        row->queues[k].name, i, (int)row->queues[k].in_store);
                row->queues[k].in_store = 0;
            }
    }
}

void mDestroySlaveThreads(int cluster, ThreadID t) {
    struct mq_group *g = mq_group_of(t, "mDestroySlaveThreads");
    if (!g) return;
    mWaitSlaveThreads(cluster, t);
#if defined(SW5_VERSION)
    athread_halt();
#elif defined(MT3_VERSION)
    hthread_group_destroy(g->hthread);
#endif
    mq_memory_free(g->start);
    g->id = 0;
    g->num = 0;
}

int mLoadSlaveImage(int cluster, const char *path) {
    if (cluster < 0 || cluster >= MQ_CLUSTERS) return MQ_BAD_CLUSTER;
    if (!path) return MQ_BAD_IMAGE;
#if defined(MT3_VERSION)
    return mq_open(cluster) && hthread_dat_load(cluster, path) == 0 ? MQ_OK : MQ_BAD_IMAGE;
#else
    /* Here the slaves' code is part of the program. */
    return MQ_BAD_IMAGE;
#endif
}

void *mSlaveFunction(const char *name) {
#if defined(MT3_VERSION)
    return (void *)(uintptr_t)name; /* kernels are started by name */
#else
    (void)name;
    return NULL;
#endif
}

/* -- Queues ------------------------------------------------------------------------------------------------------ */

int mCreateQueue(int cluster, const char *name, int slave, size_t msg_bytes, int master_slots, int slave_slots,
                 void *master_addr, SlaveMemKind kind, QueueDirection dir, int *err) {
    if (MQ_ON_SLAVE()) return mq_fail(err, MQ_NOT_THE_MASTER), -1;
    if (cluster < 0 || cluster >= MQ_CLUSTERS) return mq_fail(err, MQ_BAD_CLUSTER), -1;
    struct mq_table *t = mq_table_of(cluster);
    if (!t) return mq_fail(err, MQ_NO_MEMORY), -1;
    if (slave < 0 || slave >= MQ_SLAVE_NUM) return mq_fail(err, MQ_BAD_SLAVE), -1;
    if (!name || !*name || strlen(name) >= MQ_NAME) return mq_fail(err, MQ_BAD_NAME), -1;
    if (msg_bytes < 1 || msg_bytes > (size_t)1 << 29) return mq_fail(err, MQ_BAD_SIZE), -1;
    if (master_slots < 1 || slave_slots < 1 || master_slots > 65536 || slave_slots > 65536)
        return mq_fail(err, MQ_BAD_SLOTS), -1;
    if ((int)dir != MasterToSlave && (int)dir != SlaveToMaster) return mq_fail(err, MQ_BAD_DIRECTION), -1;
    if (!mq_is_kind((int)kind)) return mq_fail(err, MQ_BAD_KIND), -1;
    if ((uintptr_t)master_addr % 8) return mq_fail(err, MQ_BAD_ADDRESS), -1;
    struct mq_row *row = &t->rows[slave];
    for (mq_word i = 0; i < row->count; i++)
        if (row->queues[i].used && !strcmp(row->queues[i].name, name)) return mq_fail(err, MQ_NAME_IN_USE), -1;
    if (row->count == MQ_QUEUES) return mq_fail(err, MQ_TOO_MANY_QUEUES), -1;
    /* The slots are in lines of 64 bytes, each list of states a word for a slot. */
    uint64_t store = (MQ_ROUND(msg_bytes, 64) + sizeof(mq_word)) * (uint64_t)slave_slots;
    uint64_t *taken = mq_taken(t, slave, (int)kind);
    store = MQ_ROUND(store, 64);
    if (*taken + store > MQ_STORE_BYTES(kind)) return mq_fail(err, MQ_NO_LOCAL_MEMORY), -1;
    struct mq_queue *q = &row->queues[row->count];
    q->stride = master_addr ? MQ_ROUND(msg_bytes, 8) : MQ_ROUND(msg_bytes, 64);
    q->own_memory = !master_addr;
    q->slots = master_addr ? master_addr : mq_memory(cluster, q->stride * (size_t)master_slots);
    q->states = mq_memory(cluster, sizeof(mq_word) * (size_t)master_slots);
    if (!q->slots || !q->states) {
        if (q->own_memory && q->slots) mq_memory_free(q->slots);
        if (q->states) mq_memory_free((void *)(uintptr_t)q->states);
        return mq_fail(err, MQ_NO_MEMORY), -1;
    }
    strcpy(q->name, name);
    q->direction = (int)dir;
    q->kind = (int)kind;
    q->msg_bytes = (uint32_t)msg_bytes;
    q->master_slots = (uint32_t)master_slots;
    q->slave_slots = (uint32_t)slave_slots;
    q->handle = cluster * MQ_QUEUES + (int)row->count;
    q->place = *taken;
    *taken += store;
    MQ_STORE(q->used, 1);
    MQ_STORE(row->count, row->count + 1);
    mq_fail(err, MQ_OK);
    return q->handle;
}

static uint32_t mq_messages(const struct mq_queue *q) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < q->master_slots; i++) {
        int state = MQ_STATE(MQ_LOAD(q->states[i]));
        n += state == MQ_READY || (state == MQ_LOCKED && q->direction == SlaveToMaster);
    }
    return n + (uint32_t)MQ_LOAD(*(volatile mq_word *)&((struct mq_queue *)(uintptr_t)q)->in_store);
}

static void mq_remove(struct mq_queue *q, struct mq_row *row) {
    (void)row; /* the slave's memory is given back when it ends; handles are not used again */
    MQ_STORE(q->used, 0);
    if (q->own_memory) mq_memory_free(q->slots);
    mq_memory_free((void *)(uintptr_t)q->states);
    q->slots = NULL;
    q->states = NULL;
}

void mDestroyQueue(int slave, int handle, int *err) {
    struct mq_row *row;
    struct mq_queue *q = mq_find(slave, handle, &row, err);
    if (!q) return;
    for (uint32_t i = 0; i < q->master_slots; i++)
        if (MQ_STATE(MQ_LOAD(q->states[i])) != MQ_IDLE) {
            mq_fail(err, MQ_NOT_EMPTY);
            return;
        }
    if (MQ_LOAD(q->in_store)) {
        mq_fail(err, MQ_NOT_EMPTY);
        return;
    }
    /* A slave that runs may be looking at the list right now. */
    if (MQ_LOAD(row->alive) == 1) {
        mq_fail(err, MQ_SLAVES_RUNNING);
        return;
    }
    mq_remove(q, row);
    mq_fail(err, MQ_OK);
}

int mDiscardQueue(int slave, int handle, int *err) {
    struct mq_row *row;
    struct mq_queue *q = mq_find(slave, handle, &row, err);
    if (!q) return -1;
    if (MQ_LOAD(row->alive) == 1) return mq_fail(err, MQ_SLAVES_RUNNING), -1;
    int n = (int)mq_messages(q);
    mq_remove(q, row);
    mq_fail(err, MQ_OK);
    return n;
}

void mAdoptQueue(int slave, int handle, int *err) {
    /* The chips have one master thread; nothing is owned. */
    if (mq_find(slave, handle, NULL, err)) mq_fail(err, MQ_OK);
}

int mGetQueueHandle(int slave, const char *name, int *err) {
    if (MQ_ON_SLAVE()) return mq_fail(err, MQ_NOT_THE_MASTER), -1;
    if (slave < 0 || slave >= MQ_SLAVES) return mq_fail(err, MQ_BAD_SLAVE), -1;
    for (int c = 0; name && c < MQ_CLUSTERS; c++) {
        if (!mq_tables[c]) continue;
        struct mq_row *row = &mq_tables[c]->rows[slave];
        for (mq_word i = 0; i < row->count; i++)
            if (row->queues[i].used && !strcmp(row->queues[i].name, name)) {
                mq_fail(err, MQ_OK);
                return row->queues[i].handle;
            }
    }
    return mq_fail(err, MQ_NO_SUCH_QUEUE), -1;
}

int mQueueExists(int slave, int handle) { return mq_find(slave, handle, NULL, NULL) != NULL; }

size_t mGetQueueMsgSize(int slave, int handle, int *err) {
    struct mq_queue *q = mq_find(slave, handle, NULL, err);
    if (q) mq_fail(err, MQ_OK);
    return q ? q->msg_bytes : 0;
}
int mGetQueueMsgNum(int slave, int handle, int *err) {
    struct mq_queue *q = mq_find(slave, handle, NULL, err);
    if (q) mq_fail(err, MQ_OK);
    return q ? (int)mq_messages(q) : 0;
}
int mGetQueueDirection(int slave, int handle, int *err) {
    struct mq_queue *q = mq_find(slave, handle, NULL, err);
    if (q) mq_fail(err, MQ_OK);
    return q ? q->direction : -1;
}

/* -- Messages ------------------------------------------------------------------------------------------------------ */

static void *mq_take(int slave, int handle, int send, int block, int *bytes, int *err) {
    struct mq_row *row;
    struct mq_queue *q = mq_find(slave, handle, &row, err);
    if (!q) return NULL;
    if ((q->direction == MasterToSlave) != send) return mq_fail(err, MQ_WRONG_DIRECTION), NULL;
    int wanted = send ? MQ_IDLE : MQ_READY;
    for (;;) {
        /* Before the look at the slot: what a slave sent before it ended counts. */
        int alone = MQ_LOAD(row->alive) != 1;
        mq_word word = MQ_LOAD(q->states[q->next]);
        if (MQ_STATE(word) == wanted) {
            void *p = q->slots + q->next * q->stride;
            MQ_SET(q->states[q->next], MQ_PACK(MQ_LOCKED, MQ_BYTES(word)));
            q->next = q->next + 1 == q->master_slots ? 0 : q->next + 1;
            q->held++;
            if (bytes) *bytes = MQ_BYTES(word);
            mq_fail(err, MQ_OK);
            return p;
        }
        if (q->held == q->master_slots) return mq_fail(err, MQ_ALL_HELD), NULL;
        if (!block) return mq_fail(err, MQ_WOULD_BLOCK), NULL;
        if (alone) return mq_fail(err, MQ_NO_SLAVE), NULL;
        MQ_PAUSE();
    }
}

static void mq_give(int slave, int handle, int send, const char *msg, int bytes, int *err) {
    struct mq_queue *q = mq_find(slave, handle, NULL, err);
    if (!q) return;
    if ((q->direction == MasterToSlave) != send) {
        mq_fail(err, MQ_WRONG_DIRECTION);
    } else if (send && (uint32_t)bytes > q->msg_bytes) {
        mq_fail(err, MQ_TOO_LONG);
    } else if (!msg) {
        mq_fail(err, MQ_BAD_ADDRESS);
    } else if (!q->held || msg != q->slots + q->oldest * q->stride) {
        /* Another one that is held? */
        int why = MQ_FOREIGN_MESSAGE;
        for (uint32_t i = 1, at = q->oldest; i < q->held; i++) {
            at = at + 1 == q->master_slots ? 0 : at + 1;
            if (msg == q->slots + at * q->stride) why = MQ_OUT_OF_ORDER;
        }
        mq_fail(err, why);
    } else {
        uint32_t at = q->oldest;
        q->oldest = at + 1 == q->master_slots ? 0 : at + 1;
        q->held--;
        MQ_STORE(q->states[at], send ? MQ_PACK(MQ_READY, bytes) : MQ_PACK(MQ_IDLE, 0));
        mq_fail(err, MQ_OK);
    }
}

void *mAllocateMsg(int slave, int handle, int *err) { return mq_take(slave, handle, 1, 1, NULL, err); }
void *mTryAllocateMsg(int slave, int handle, int *err) { return mq_take(slave, handle, 1, 0, NULL, err); }
void mSendMsg(int slave, int handle, void *msg, int bytes, int *err) { mq_give(slave, handle, 1, msg, bytes, err); }
void *mRecvMsg(int slave, int handle, int *bytes, int *err) { return mq_take(slave, handle, 0, 1, bytes, err); }
void *mTryRecvMsg(int slave, int handle, int *bytes, int *err) { return mq_take(slave, handle, 0, 0, bytes, err); }
void mReleaseMsg(int slave, int handle, void *msg, int *err) { mq_give(slave, handle, 0, msg, 0, err); }

/* Batches have one message: a chip's transfers are per slot anyway. */
static void *mq_take_batch(int slave, int handle, int send, int want, int *got, size_t *stride, int *err) {
    if (want < 1) return mq_fail(err, MQ_BAD_COUNT), NULL;
    if (!got || !stride) return mq_fail(err, MQ_BAD_ADDRESS), NULL;
    void *p = mq_take(slave, handle, send, 1, NULL, err);
    *got = p != NULL;
    *stride = 0;
    return p;
}
void *mAllocateBatch(int slave, int handle, int want, int *got, size_t *stride, int *err) {
    return mq_take_batch(slave, handle, 1, want, got, stride, err);
}
void *mRecvBatch(int slave, int handle, int want, int *got, size_t *stride, int *err) {
    return mq_take_batch(slave, handle, 0, want, got, stride, err);
}
void mSendBatch(int slave, int handle, void *first, int n, int bytes, int *err) {
    if (n == 1) mq_give(slave, handle, 1, first, bytes, err);
    else mq_fail(err, MQ_BAD_COUNT);
}
void mReleaseBatch(int slave, int handle, void *first, int n, int *err) {
    if (n == 1) mq_give(slave, handle, 0, first, 0, err);
    else mq_fail(err, MQ_BAD_COUNT);
}
