/* The slaves' half: libSHMessQueue.a. See mq_chip.h. */
#include "mq_chip.h"

/* -- What differs between the chips --------------------------------------------------------------------------- */

/* A transfer that was started; what it takes to learn that it is over. */
#if defined(SW5_VERSION)
#include <slave.h>
#define MQ_LOCAL __thread_local
#define MQ_ME() athread_get_id(-1)
struct mq_dma {
    volatile int reply;
};
static void mq_get(struct mq_dma *d, void *local, void *master, int bytes) {
    d->reply = 0;
    athread_get(PE_MODE, master, local, bytes, (void *)&d->reply, 0, 0, 0);
}
static void mq_put(struct mq_dma *d, void *master, void *local, int bytes) {
    d->reply = 0;
    athread_put(PE_MODE, local, master, bytes, (void *)&d->reply, 0, 0);
}
/* The counter, and what was transferred before it counted. */
static int mq_reply(struct mq_dma *d) {
#if defined(HETMP_MQ_STANDIN)
    return __atomic_load_n(&d->reply, __ATOMIC_ACQUIRE);
#else
    int reply = d->reply;
    MQ_BARRIER();
    return reply;
#endif
}
static int mq_done(struct mq_dma *d, int wait) {
    while (wait && mq_reply(d) != 1) MQ_PAUSE();
    return mq_reply(d) == 1;
}
/* Messages begin on a line. Some published kernels expect ldm_malloc's blocks 16 bytes past a multiple of 32. */
static void *mq_local(int kind, uint64_t bytes) {
    char *block = ldm_malloc((int)bytes + 64), *line;
    (void)kind;
    if (!block) return block;
    line = block + 64 - (unsigned long)block % 64;
    ((char **)(void *)line)[-1] = block;
    return line;
}
static void mq_local_free(int kind, void *p, uint64_t bytes) {
    (void)kind;
    ldm_free(((char **)p)[-1], (int)bytes + 64);
}

#elif defined(MT3_VERSION)
#include "hthread_device.h"
#define MQ_LOCAL
#define MQ_ME() get_thread_id()
struct mq_dma {
    unsigned int channel;
    int open;
};
static void mq_get(struct mq_dma *d, void *local, void *master, int bytes) {
    d->channel = dma_p2p(master, 1, (unsigned)bytes, 0, local, 1, (unsigned)bytes, 0, 0, 0);
    d->open = 1;
}
static void mq_put(struct mq_dma *d, void *master, void *local, int bytes) {
    d->channel = dma_p2p(local, 1, (unsigned)bytes, 0, master, 1, (unsigned)bytes, 0, 0, 0);
    d->open = 1;
}
static int mq_done(struct mq_dma *d, int wait) {
    /* Only waiting is documented, so a transfer is over when somebody has waited for it. */
    if (wait && d->open) {
        dma_wait(d->channel);
        d->open = 0;
    }
    return !d->open;
}
/* GSM holds variables only. The master says where a queue's slots lie there, so that no two slaves choose at once. On
 * stand-ins all clusters have one image. */
#if defined(HETMP_MQ_STANDIN)
#define MQ_IMAGE_CLUSTERS MQ_CLUSTERS
#else
#define MQ_IMAGE_CLUSTERS 1
#endif
static __gsm__ char mq_gsm[MQ_IMAGE_CLUSTERS][MQ_GSM_BYTES] __attribute__((aligned(128)));
#define MQ_IN_GSM(cluster, place) (mq_gsm[(cluster) % MQ_IMAGE_CLUSTERS] + (place))
static void *mq_local(int kind, uint64_t bytes) {
    switch (kind) {
    case SlaveArrayMem: return vector_malloc((unsigned)bytes);
    case SlaveGlobalMem: return (void *)0;
    case SlaveHighBandwidthMem: return hbm_malloc(bytes);
    default: return scalar_malloc((unsigned)bytes);
    }
}
static void mq_local_free(int kind, void *p, uint64_t bytes) {
    (void)bytes;
    switch (kind) {
    case SlaveArrayMem: vector_free(p); break;
    case SlaveGlobalMem: break;
    case SlaveHighBandwidthMem: hbm_free(p); break;
    default: scalar_free(p);
    }
}

#else
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#define MQ_LOCAL __thread
static MQ_LOCAL int mq_my_number;
#define MQ_ME() mq_my_number
struct mq_dma {
    int unused;
};
static void mq_get(struct mq_dma *d, void *local, void *master, int bytes) {
    (void)d;
    memcpy(local, master, (size_t)bytes);
}
static void mq_put(struct mq_dma *d, void *master, void *local, int bytes) {
    (void)d;
    memcpy(master, local, (size_t)bytes);
}
static int mq_done(struct mq_dma *d, int wait) {
    (void)d;
    (void)wait;
    return 1;
}
static void *mq_local(int kind, uint64_t bytes) {
    void *p = NULL;
    (void)kind;
    return posix_memalign(&p, 64, bytes) == 0 ? p : NULL;
}
static void mq_local_free(int kind, void *p, uint64_t bytes) {
    (void)kind;
    (void)bytes;
    free(p);
}
#endif

/* -- The slave's half of its queues (SMessQueue of the paper), in its local store --------------------------------- */

struct mq_end {
    struct mq_queue *queue; /* in the master's memory; NULL until first use */
    char *slots;
    mq_word *states;        /* SState */
    struct mq_dma *dma;     /* one for each slot of the store */
    volatile mq_word *their_states;
    char *their_slots;
    uint64_t stride, their_stride, bytes_taken, lists_taken;
    uint32_t slots_num, their_num, msg_bytes;
    int direction, kind;
    uint32_t next, oldest, held, used;
    uint32_t start, their_start, tran, their_tran, under_way;
};

struct mq_slave {
    struct mq_table *table;
    struct mq_row *row;
    int cluster, number;
    uint64_t taken[4]; /* bytes that sMalloc gave, with the line before each block */
    struct mq_end ends[MQ_QUEUES];
};

#if defined(MT3_VERSION)
/* The compiler knows no variables of one core alone: one entry for each. */
static struct mq_slave *mq_slaves[MQ_SLAVES];
#define MQ_SELF mq_slaves[MQ_ME()]
#else
static MQ_LOCAL struct mq_slave *mq_self;
#define MQ_SELF mq_self
#endif

static void mq_clear(void *p, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes; i++) ((char *)p)[i] = 0;
}

static int mq_same(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* Called on the slave before its function. */
int hetmp_mq_slave_begin(void *start, int number) {
    struct mq_start *s = start;
    struct mq_slave *me = mq_local(SlaveScalarMem, sizeof *me);
    if (!me) return 0;
    mq_clear(me, sizeof *me);
    me->table = s->table;
    me->cluster = s->table->cluster;
    me->number = number;
    me->row = &s->table->rows[number];
    MQ_SELF = me;
    return 1;
}

static int mq_pump(struct mq_end *e, int wait);
static void mq_free_end(struct mq_end *e);

/* And after it. */
void hetmp_mq_slave_end(void) {
    struct mq_slave *me = MQ_SELF;
    for (int i = 0; i < MQ_QUEUES; i++) {
        struct mq_end *e = &me->ends[i];
        if (!e->queue) continue;
        /* What was sent goes out, as long as the master makes room. One that waits for the end makes
         * none any more; it says what was left. */
        while (e->direction == SlaveToMaster && e->used != e->held) {
            int joining = (int)MQ_LOAD(me->table->joining);
            if (!mq_pump(e, 1) && joining) break;
            MQ_PAUSE();
        }
        while (e->under_way) mq_pump(e, 1);
        mq_free_end(e);
    }
    struct mq_row *row = me->row;
    MQ_SELF = 0;
    mq_local_free(SlaveScalarMem, me, sizeof *me);
    MQ_STORE(row->alive, 2);
}

#if defined(SW5_VERSION)
#if defined(HETMP_MQ_STANDIN)
void slave_hetmp_mq_slave_main(void *start)
#else
void hetmp_mq_slave_main(void *start)
#endif
{
    struct mq_start *s = start;
    if (hetmp_mq_slave_begin(s, athread_get_id(-1))) {
        s->function(s->argument);
        hetmp_mq_slave_end();
    }
}
#elif !defined(MT3_VERSION)
void *hetmp_mq_slave_main(void *start) {
    struct mq_start *s = start;
    int number = s->number;
    mq_my_number = number;
    if (hetmp_mq_slave_begin(s, number)) {
        s->function(s->argument);
        hetmp_mq_slave_end();
    }
    return 0;
}
#endif

#if !defined(SW5_VERSION) && !defined(MT3_VERSION)
int hetmp_mq_on_slave(void) { return MQ_SELF != 0; }
#endif

/* The end of a handle, made on first use. */
static struct mq_end *mq_end_of(int handle, int *err) {
    struct mq_slave *me = MQ_SELF;
    if (!me) return mq_fail(err, MQ_NOT_A_SLAVE), (void *)0;
    int index = handle - me->cluster * MQ_QUEUES;
    if (index < 0 || index >= MQ_QUEUES || (mq_word)index >= MQ_LOAD(me->row->count))
        return mq_fail(err, MQ_NO_SUCH_QUEUE), (void *)0;
    struct mq_end *e = &me->ends[index];
    if (e->queue) return e;
    struct mq_queue *q = &me->row->queues[index];
    if (!MQ_LOAD(q->used)) return mq_fail(err, MQ_NO_SUCH_QUEUE), (void *)0;
    /* Copied once: the master's memory is far away. */
    e->slots_num = q->slave_slots;
    e->their_num = q->master_slots;
    e->msg_bytes = q->msg_bytes;
    e->direction = q->direction;
    e->kind = q->kind;
    e->their_states = q->states;
    e->their_slots = q->slots;
    e->their_stride = q->stride;
    e->stride = MQ_ROUND(q->msg_bytes, 64);
    /* Few blocks: MT-3000 has 32 in scalar memory. */
    uint64_t lists = MQ_ROUND((sizeof(mq_word) + sizeof(struct mq_dma)) * e->slots_num, 64);
    e->bytes_taken = e->stride * e->slots_num;
    e->lists_taken = e->kind == SlaveScalarMem ? lists + e->bytes_taken : lists;
    e->states = mq_local(SlaveScalarMem, e->lists_taken);
    if (!e->states) return mq_fail(err, MQ_NO_LOCAL_MEMORY), (void *)0;
    e->dma = (struct mq_dma *)(void *)(e->states + e->slots_num);
#if defined(MT3_VERSION)
    if (e->kind == SlaveGlobalMem) e->slots = MQ_IN_GSM(me->cluster, q->place);
    else
#endif
        e->slots = e->kind == SlaveScalarMem ? (char *)e->states + lists : mq_local(e->kind, e->bytes_taken);
    if (!e->slots) {
        mq_local_free(SlaveScalarMem, e->states, e->lists_taken);
        return mq_fail(err, MQ_NO_LOCAL_MEMORY), (void *)0;
    }
    mq_clear(e->states, sizeof(mq_word) * e->slots_num);
    mq_clear(e->dma, sizeof(struct mq_dma) * e->slots_num);
    e->queue = q;
    return e;
}

static void mq_free_end(struct mq_end *e) {
    if (e->kind != SlaveScalarMem) mq_local_free(e->kind, e->slots, e->bytes_taken);
    mq_local_free(SlaveScalarMem, e->states, e->lists_taken);
}

#define MQ_NEXT(at, num) ((at) + 1 == (num) ? 0 : (at) + 1)

static void mq_complete(struct mq_end *e, int wait) {
    while (e->under_way && mq_done(&e->dma[e->tran], wait)) {
        mq_word bytes = MQ_BYTES(e->states[e->tran]);
        if (e->direction == MasterToSlave) {
            e->states[e->tran] = MQ_PACK(MQ_READY, bytes);
            MQ_STORE(e->their_states[e->their_tran], MQ_PACK(MQ_IDLE, 0));
        } else {
            e->states[e->tran] = MQ_PACK(MQ_IDLE, 0);
            MQ_STORE(e->their_states[e->their_tran], MQ_PACK(MQ_READY, bytes));
            e->used--;
        }
        e->tran = MQ_NEXT(e->tran, e->slots_num);
        e->their_tran = MQ_NEXT(e->their_tran, e->their_num);
        e->under_way--;
    }
}

/* Completes what is over (waiting for it if asked to) and starts all that can be started. */
static int mq_pump(struct mq_end *e, int wait) {
    mq_complete(e, wait);
    int to_slave = e->direction == MasterToSlave;
    /* The own list first: a look at the master's memory is dear. */
    while (MQ_STATE(e->states[e->start]) == (to_slave ? MQ_IDLE : MQ_READY)) {
        mq_word theirs = MQ_LOAD(e->their_states[e->their_start]);
        if (MQ_STATE(theirs) != (to_slave ? MQ_READY : MQ_IDLE)) break;
        int bytes = MQ_BYTES(to_slave ? theirs : e->states[e->start]);
        char *local = e->slots + e->start * e->stride, *master = e->their_slots + e->their_start * e->their_stride;
        MQ_SET(e->their_states[e->their_start], MQ_PACK(MQ_TRAN, bytes));
        e->states[e->start] = MQ_PACK(MQ_TRAN, bytes);
        /* A chip's engine moves whole words. */
        int words = (int)MQ_ROUND(bytes ? bytes : 1, 8);
        if (to_slave) {
            mq_get(&e->dma[e->start], local, master, words);
            e->used++;
        } else {
            mq_put(&e->dma[e->start], master, local, words);
        }
        e->start = MQ_NEXT(e->start, e->slots_num);
        e->their_start = MQ_NEXT(e->their_start, e->their_num);
        e->under_way++;
    }
#if !defined(MT3_VERSION)
    mq_complete(e, 0);
#endif
    mq_word told = to_slave ? e->used : e->used - e->held;
    if (e->queue->in_store != told) MQ_STORE(e->queue->in_store, told);
    return e->under_way != 0;
}

static void mq_pump_others(const struct mq_end *but) {
    struct mq_slave *me = MQ_SELF;
    for (int i = 0; i < MQ_QUEUES; i++)
        if (me->ends[i].queue && &me->ends[i] != but) mq_pump(&me->ends[i], 1);
}

static void *mq_take(int handle, int send, int block, int *bytes, int *err) {
    struct mq_end *e = mq_end_of(handle, err);
    if (!e) return (void *)0;
    if ((e->direction == SlaveToMaster) != send) return mq_fail(err, MQ_WRONG_DIRECTION), (void *)0;
    int wanted = send ? MQ_IDLE : MQ_READY, joining = 0;
    /* First without waiting for a transfer: then another may run while the program computes. */
    for (int wait = 0;; wait = 1) {
        int under_way = mq_pump(e, wait);
        mq_word word = e->states[e->next];
        if (MQ_STATE(word) == wanted) {
            void *p = e->slots + e->next * e->stride;
            e->states[e->next] = MQ_PACK(MQ_LOCKED, MQ_BYTES(word));
            e->next = MQ_NEXT(e->next, e->slots_num);
            e->held++;
            if (send) e->used++;
            if (bytes) *bytes = MQ_BYTES(word);
            mq_fail(err, MQ_OK);
            return p;
        }
        if (e->held == e->slots_num) return mq_fail(err, MQ_ALL_HELD), (void *)0;
        if (wait && !under_way) {
            if (!block) return mq_fail(err, MQ_WOULD_BLOCK), (void *)0;
            /* Looked at before the next pump: what the master sent before it waited counts. */
            if (joining) return mq_fail(err, MQ_DEADLOCK), (void *)0;
            joining = (int)MQ_LOAD(MQ_SELF->table->joining);
            mq_pump_others(e);
            MQ_PAUSE();
        }
    }
}

static void mq_give(int handle, int send, const char *msg, int bytes, int *err) {
    struct mq_end *e = mq_end_of(handle, err);
    if (!e) return;
    if ((e->direction == SlaveToMaster) != send) {
        mq_fail(err, MQ_WRONG_DIRECTION);
    } else if (send && (uint32_t)bytes > e->msg_bytes) {
        mq_fail(err, MQ_TOO_LONG);
    } else if (!msg) {
        mq_fail(err, MQ_BAD_ADDRESS);
    } else if (!e->held || msg != e->slots + e->oldest * e->stride) {
        int why = MQ_FOREIGN_MESSAGE;
        for (uint32_t i = 1, at = e->oldest; i < e->held; i++) {
            at = MQ_NEXT(at, e->slots_num);
            if (msg == e->slots + at * e->stride) why = MQ_OUT_OF_ORDER;
        }
        mq_fail(err, why);
    } else {
        e->states[e->oldest] = send ? MQ_PACK(MQ_READY, bytes) : MQ_PACK(MQ_IDLE, 0);
        e->oldest = MQ_NEXT(e->oldest, e->slots_num);
        e->held--;
        if (!send) e->used--;
        mq_pump(e, 0);
        mq_fail(err, MQ_OK);
    }
}

void *sAllocateMsg(int handle, int *err) { return mq_take(handle, 1, 1, (void *)0, err); }
void *sTryAllocateMsg(int handle, int *err) { return mq_take(handle, 1, 0, (void *)0, err); }
void sSendMsg(int handle, void *msg, int bytes, int *err) { mq_give(handle, 1, msg, bytes, err); }
void *sRecvMsg(int handle, int *bytes, int *err) { return mq_take(handle, 0, 1, bytes, err); }
void *sTryRecvMsg(int handle, int *bytes, int *err) { return mq_take(handle, 0, 0, bytes, err); }
void *sResvMsg(int handle, int *bytes, int *err) { return sRecvMsg(handle, bytes, err); }
void *sTryResvMsg(int handle, int *bytes, int *err) { return sTryRecvMsg(handle, bytes, err); }
void sReleaseMsg(int handle, void *msg, int *err) { mq_give(handle, 0, msg, 0, err); }

static void *mq_take_batch(int handle, int send, int want, int *got, size_t *stride, int *err) {
    if (want < 1) return mq_fail(err, MQ_BAD_COUNT), (void *)0;
    if (!got || !stride) return mq_fail(err, MQ_BAD_ADDRESS), (void *)0;
    void *p = mq_take(handle, send, 1, (void *)0, err);
    *got = p != (void *)0;
    *stride = 0;
    return p;
}
void *sAllocateBatch(int handle, int want, int *got, size_t *stride, int *err) {
    return mq_take_batch(handle, 1, want, got, stride, err);
}
void *sRecvBatch(int handle, int want, int *got, size_t *stride, int *err) {
    return mq_take_batch(handle, 0, want, got, stride, err);
}
void sSendBatch(int handle, void *first, int n, int bytes, int *err) {
    if (n == 1) mq_give(handle, 1, first, bytes, err);
    else mq_fail(err, MQ_BAD_COUNT);
}
void sReleaseBatch(int handle, void *first, int n, int *err) {
    if (n == 1) mq_give(handle, 0, first, 0, err);
    else mq_fail(err, MQ_BAD_COUNT);
}

int sGetQueueHandle(const char *name, int *err) {
    struct mq_slave *me = MQ_SELF;
    if (!me) return mq_fail(err, MQ_NOT_A_SLAVE), -1;
    mq_word count = MQ_LOAD(me->row->count);
    for (mq_word i = 0; name && i < count; i++)
        if (MQ_LOAD(me->row->queues[i].used) && mq_same(me->row->queues[i].name, name)) {
            mq_fail(err, MQ_OK);
            return me->row->queues[i].handle;
        }
    return mq_fail(err, MQ_NO_SUCH_QUEUE), -1;
}

int sQueueExists(int handle) { return mq_end_of(handle, (void *)0) != (void *)0; }
size_t sGetQueueMsgSize(int handle, int *err) {
    struct mq_end *e = mq_end_of(handle, err);
    if (e) mq_fail(err, MQ_OK);
    return e ? e->msg_bytes : 0;
}
int sGetQueueMsgNum(int handle, int *err) {
    struct mq_end *e = mq_end_of(handle, err);
    if (!e) return 0;
    uint32_t n = e->direction == MasterToSlave ? e->used : e->used - e->held;
    for (uint32_t i = 0; i < e->their_num; i++) {
        int state = MQ_STATE(MQ_LOAD(e->their_states[i]));
        n += state == MQ_READY || (state == MQ_LOCKED && e->direction == SlaveToMaster);
    }
    mq_fail(err, MQ_OK);
    return (int)n;
}
int sGetQueueDirection(int handle, int *err) {
    struct mq_end *e = mq_end_of(handle, err);
    if (e) mq_fail(err, MQ_OK);
    return e ? e->direction : -1;
}

int sGetSlaveCoreNum(void) { return MQ_SELF ? MQ_SLAVE_NUM : 0; }
size_t sGetLocalMemSize(int kind) { return mq_is_kind(kind) ? MQ_STORE_BYTES(kind) : 0; }
int sGetSimdWidth(void) { return MQ_SIMD_BITS; }
int sGetSlaveId(void) { return MQ_SELF ? MQ_SELF->number : -1; }
int sGetClusterId(void) { return MQ_SELF ? MQ_SELF->cluster : -1; }

size_t sGetLocalMemFree(int kind) {
#if defined(MT3_VERSION)
    if (kind == SlaveArrayMem) return (size_t)get_am_free_space();
    if (kind == SlaveScalarMem) return (size_t)get_sm_free_space();
#endif
    /* The libraries do not tell; what queues were promised and what sMalloc gave is known. */
    if (!MQ_SELF || !sGetLocalMemSize(kind)) return 0;
    uint64_t taken = *mq_taken(MQ_SELF->table, MQ_SELF->number, kind) + MQ_SELF->taken[mq_area(kind)];
    return taken < sGetLocalMemSize(kind) ? sGetLocalMemSize(kind) - taken : 0;
}

void *sMalloc(int kind, size_t bytes, int *err) {
    if (!MQ_SELF) return mq_fail(err, MQ_NOT_A_SLAVE), (void *)0;
    if (!sGetLocalMemSize(kind)) return mq_fail(err, MQ_BAD_KIND), (void *)0;
    if (bytes > MQ_STORE_BYTES(kind)) return mq_fail(err, MQ_NO_LOCAL_MEMORY), (void *)0;
    /* A line before the block says what it is. */
    uint64_t whole = MQ_ROUND(bytes, 64) + 64;
#if !defined(MT3_VERSION)
    if (whole > sGetLocalMemFree(kind)) return mq_fail(err, MQ_NO_LOCAL_MEMORY), (void *)0;
#endif
    uint64_t *p = mq_local(kind, whole);
    if (!p) return mq_fail(err, MQ_NO_LOCAL_MEMORY), (void *)0;
    p[0] = (uint64_t)kind;
    p[1] = whole;
    MQ_SELF->taken[mq_area(kind)] += whole;
    mq_fail(err, MQ_OK);
    return p + 8;
}
void sFree(void *block, int *err) {
    if (!MQ_SELF) {
        mq_fail(err, MQ_NOT_A_SLAVE);
        return;
    }
    if (!block) {
        mq_fail(err, MQ_BAD_ADDRESS);
        return;
    }
    uint64_t *p = (uint64_t *)block - 8;
    MQ_SELF->taken[mq_area((int)p[0])] -= p[1];
    mq_local_free((int)p[0], p, p[1]);
    mq_fail(err, MQ_OK);
}

/* Transfers of the program's own. They are waited for here: the reply counter counts what is over. */
void sDmaGet(void *local, const void *master, size_t bytes, volatile int *reply, int *err) {
    struct mq_dma d;
    mq_get(&d, local, (void *)(uintptr_t)master, (int)bytes);
    mq_done(&d, 1);
    ++*reply;
    mq_fail(err, MQ_OK);
}
void sDmaPut(void *master, const void *local, size_t bytes, volatile int *reply, int *err) {
    struct mq_dma d;
    mq_put(&d, master, (void *)(uintptr_t)local, (int)bytes);
    mq_done(&d, 1);
    ++*reply;
    mq_fail(err, MQ_OK);
}
int sDmaTest(volatile int *reply, int n) { return *reply >= n; }
void sDmaWait(volatile int *reply, int n) {
    (void)reply;
    (void)n; /* every transfer is over when it returns */
}
void sDirectRead(void *local, const void *master, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((char *)local)[i] = ((const volatile char *)master)[i];
}
void sDirectWrite(void *master, const void *local, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((volatile char *)master)[i] = ((const char *)local)[i];
}
