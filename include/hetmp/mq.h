/* Message queues between a master and its slave cores (hetmp/mq.h).
 *
 * One program text for many-core chips whose slave cores have a small local store instead of a coherent
 * cache (SW26010, MT-3000), and for x86, where a slave is a thread. The interface is that of Chen and
 * Zhou, "A programming model for domestic high-performance many-core processors" (Journal of Computer
 * Applications 43(11), 2023): names beginning with m are called by the master, with s by a slave.
 *
 *     master                                          slave
 *     h = mCreateQueue(0, "Input", 3, bytes, 2, 2, NULL, SlaveScalarMem, MasterToSlave, &err);
 *     t = mStartSlaveThreads(0, n, fn, arg);          fn(arg):  h = sGetQueueHandle("Input", &err);
 *     p = mAllocateMsg(3, h, &err);                   q = sRecvMsg(h, &bytes, &err);
 *     ... fill p in place ...                         ... use q in place ...
 *     mSendMsg(3, h, p, bytes, &err);                 sReleaseMsg(h, q, &err);
 *     mWaitSlaveThreads(0, t); mDestroySlaveThreads(t);
 *
 * Queues
 *   A queue has one direction, a fixed largest message, `master_slots` slots at the master and `slave_slots`
 *   in the slave's local store. Messages arrive in the order in which they were allocated, and nothing is
 *   copied by the program: the sender fills a slot in place, the receiver uses a slot in place.
 *   - Several messages may be held at a time. They are sent and released in the order in which they were
 *     allocated and received; another order is refused (MQ_OUT_OF_ORDER).
 *   - One thread uses each end. The first one that does owns it; a second one is refused (MQ_SECOND_USER)
 *     until it calls mAdoptQueue after the first has finished with it.
 *   - A message of 64 bytes and more begins on a cache line; a shorter one is aligned as its size is
 *     (24 bytes: to 8), at least to 8.
 *   - Handles count from 0 for each slave number. (slave, handle) and (slave, name) mean the same queue on
 *     both sides. A handle is not used again for another queue after mDestroyQueue.
 *   - Where a chip has two stages (a slot at the master, a DMA transfer, a slot in the local store), x86
 *     without a modelled store lets both sides use one ring of master_slots + slave_slots slots, and
 *     nothing is transferred. A master address, a modelled platform or a strict one bring the two stages.
 *
 * Blocking
 *   mAllocateMsg, mRecvMsg and their s-forms wait; the Try forms return NULL with MQ_WOULD_BLOCK. A wait
 *   that can never end does not hang: it returns NULL with MQ_NO_SLAVE (the slave has ended or was never
 *   started), MQ_ALL_HELD (the caller itself holds every slot), MQ_DESTROYED, MQ_DEADLOCK (each side waits for
 *   the other on different queues, or the master waits for the slaves' end), or MQ_TIMED_OUT after the seconds of
 *   HETMP_MQ_TIMEOUT. A wait of ten seconds says in one line on standard error what it waits for.
 *
 * Errors
 *   Every function with `err` stores MQ_OK or an MQ_ constant there; mqErrorText gives the words and
 *   mqErrorName the name. With a null `err` an error other than MQ_WOULD_BLOCK is one line on standard error.
 *   Failing functions return NULL, or -1, or 0 for sizes and counts.
 *   A slave that crashes (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) is named in one line before the process
 *   ends, unless the program handles that signal itself.
 *
 * Platforms
 *   HETMP_PLATFORM chooses x86 (the default), sw26010, mt3000 or a TOML file; ",strict" maps the local stores
 *   at addresses of their own and keeps slots out of reach of who does not hold them. `hetmp info --platform`
 *   shows the platforms.
 *   SW5_VERSION, MT3_VERSION and AVX_VERSION choose the static libraries instead (libMHMessQueue.a for the master,
 *   libSHMessQueue.a for slaves) over athread, hThread or pthread: always two stages, no inline paths, at most 16
 *   queues of a slave, and waits that only end by the other side, by MQ_NO_SLAVE and by MQ_DEADLOCK.
 *
 * Speed
 *   The allocate/send/receive/release functions are macros over inline functions that touch the queue
 *   directly and call the library only to wait or to report. HETMP_MQ_NO_INLINE leaves plain calls.
 *   The Batch forms handle several messages with one look at the other side.
 *
 * C11 and C++11, gcc and clang. Link with `pkg-config --cflags --libs hetmp`.
 */
#ifndef HETMP_MQ_H
#define HETMP_MQ_H

#include <stddef.h>
#include <stdint.h>

#if (defined(SW5_VERSION) || defined(MT3_VERSION) || defined(AVX_VERSION)) && !defined(HETMP_MQ_NO_INLINE)
#define HETMP_MQ_NO_INLINE 1
#endif

/* Calls of the library's functions skip the jump through the procedure linkage table. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define HETMP_MQ_CALL __attribute__((noplt))
#endif
#endif
#ifndef HETMP_MQ_CALL
#define HETMP_MQ_CALL
#endif

/* The interface's paper names twelve functions. The names of the others begin with hetmp_ in the library. */
#define mqErrorText hetmp_mqErrorText
#define mqErrorName hetmp_mqErrorName
#define mGetMaxSlaveCoreNum hetmp_mGetMaxSlaveCoreNum
#define mGetClusterNum hetmp_mGetClusterNum
#define mGetLocalMemSize hetmp_mGetLocalMemSize
#define mGetLocalMemFree hetmp_mGetLocalMemFree
#define mGetSimdWidth hetmp_mGetSimdWidth
#define mGetPlatform hetmp_mGetPlatform
#define sGetSlaveCoreNum hetmp_sGetSlaveCoreNum
#define sGetLocalMemSize hetmp_sGetLocalMemSize
#define sGetLocalMemFree hetmp_sGetLocalMemFree
#define sGetSimdWidth hetmp_sGetSimdWidth
#define sGetSlaveId hetmp_sGetSlaveId
#define sGetClusterId hetmp_sGetClusterId
#define mIsSlaveAlive hetmp_mIsSlaveAlive
#define mLoadSlaveImage hetmp_mLoadSlaveImage
#define mSlaveFunction hetmp_mSlaveFunction
#define mDestroyQueue hetmp_mDestroyQueue
#define mDiscardQueue hetmp_mDiscardQueue
#define mAdoptQueue hetmp_mAdoptQueue
#define mGetQueueHandle hetmp_mGetQueueHandle
#define sGetQueueHandle hetmp_sGetQueueHandle
#define mQueueExists hetmp_mQueueExists
#define mGetQueueMsgSize hetmp_mGetQueueMsgSize
#define mGetQueueMsgNum hetmp_mGetQueueMsgNum
#define mGetQueueDirection hetmp_mGetQueueDirection
#define sQueueExists hetmp_sQueueExists
#define sGetQueueMsgSize hetmp_sGetQueueMsgSize
#define sGetQueueMsgNum hetmp_sGetQueueMsgNum
#define sGetQueueDirection hetmp_sGetQueueDirection
#define mTryAllocateMsg hetmp_mTryAllocateMsg
#define mTryRecvMsg hetmp_mTryRecvMsg
#define sAllocateMsg hetmp_sAllocateMsg
#define sTryAllocateMsg hetmp_sTryAllocateMsg
#define sSendMsg hetmp_sSendMsg
#define sTryRecvMsg hetmp_sTryRecvMsg
#define sTryResvMsg hetmp_sTryResvMsg
#define mAllocateBatch hetmp_mAllocateBatch
#define mSendBatch hetmp_mSendBatch
#define mRecvBatch hetmp_mRecvBatch
#define mReleaseBatch hetmp_mReleaseBatch
#define sAllocateBatch hetmp_sAllocateBatch
#define sSendBatch hetmp_sSendBatch
#define sRecvBatch hetmp_sRecvBatch
#define sReleaseBatch hetmp_sReleaseBatch
#define sMalloc hetmp_sMalloc
#define sFree hetmp_sFree
#define sDmaGet hetmp_sDmaGet
#define sDmaPut hetmp_sDmaPut
#define sDmaTest hetmp_sDmaTest
#define sDmaWait hetmp_sDmaWait
#define sDirectRead hetmp_sDirectRead
#define sDirectWrite hetmp_sDirectWrite

#ifdef __cplusplus
extern "C" {
#endif

/* Where a queue's slave slots (or an allocation) lie: in the slave's local store, or in a memory that the slaves of its
 * cluster share. A kind that a platform does not have is its scalar memory. With MT3_VERSION, queues have 1 MB of GSM
 * (MQ_GSM_BYTES), and sMalloc none: declare __gsm__ variables. */
typedef enum SlaveMemKind {
    SlaveScalarMem = 0,       /* SW26010: the LDM; MT-3000: scalar memory */
    SlaveArrayMem = 1,        /* MT-3000: array (vector) memory */
    SlaveGlobalMem = 2,       /* MT-3000: GSM, global shared memory */
    SlaveHighBandwidthMem = 3 /* MT-3000: HBSM, high-bandwidth shared memory */
} SlaveMemKind;

typedef enum QueueDirection { MasterToSlave = 0, SlaveToMaster = 1 } QueueDirection;

enum hetmp_mq_error {
    MQ_OK = 0,
    MQ_WOULD_BLOCK = 1,      /* a Try form found nothing to take */
    MQ_BAD_CLUSTER = 2,      /* the platform has no such cluster */
    MQ_BAD_SLAVE = 3,        /* the cluster has no such slave */
    MQ_BAD_SIZE = 4,         /* a message of 0 bytes, or of more than 512 MiB */
    MQ_BAD_SLOTS = 5,        /* fewer than 1 slot, or more than 65536, on a side */
    MQ_BAD_NAME = 6,         /* no name, an empty one, or one of more than 63 bytes */
    MQ_NAME_IN_USE = 7,      /* the slave has a queue of this name */
    MQ_BAD_KIND = 8,         /* not a SlaveMemKind */
    MQ_BAD_DIRECTION = 9,    /* not a QueueDirection */
    MQ_BAD_ADDRESS = 10,     /* a master address that is not aligned to 8 bytes, or a null message */
    MQ_NO_LOCAL_MEMORY = 11, /* does not fit in what is left of the slave's local store */
    MQ_NO_MEMORY = 12,       /* no memory at the master */
    MQ_TOO_MANY_QUEUES = 13, /* 4096 queues of one slave exist */
    MQ_NO_SUCH_QUEUE = 14,   /* never created, or destroyed */
    MQ_DESTROYED = 15,       /* destroyed while this call waited */
    MQ_WRONG_DIRECTION = 16, /* allocate or send at the receiving end, or the reverse */
    MQ_SECOND_USER = 17,     /* another thread uses this end (see mAdoptQueue) */
    MQ_FOREIGN_MESSAGE = 18, /* not a message of this queue that the caller holds */
    MQ_OUT_OF_ORDER = 19,    /* an older message must be sent or released first */
    MQ_TOO_LONG = 20,        /* more bytes than the queue's messages have, or fewer than 0 */
    MQ_NOT_EMPTY = 21,       /* mDestroyQueue: messages are queued or held (see mDiscardQueue) */
    MQ_ALL_HELD = 22,        /* the caller holds every slot: send or release first */
    MQ_NO_SLAVE = 23,        /* the slave has ended, or was not started: nobody will answer */
    MQ_DEADLOCK = 24,        /* master and slave wait for each other */
    MQ_TIMED_OUT = 25,       /* HETMP_MQ_TIMEOUT is over */
    MQ_NOT_A_SLAVE = 26,     /* an s-function on a thread that is not a slave */
    MQ_NOT_THE_MASTER = 27,  /* an m-function on a slave */
    MQ_BAD_COUNT = 28,       /* a number of threads or messages below 1 or above what exists */
    MQ_SLAVES_RUNNING = 29,  /* the slave runs: wait for it first */
    MQ_NO_SUCH_THREADS = 30, /* never started, or destroyed */
    MQ_BAD_IMAGE = 31        /* the image cannot be loaded */
};

/* -- Errors and system parameters ---------------------------------------------------------------------- */

/* BEGIN generated from runtime/abi/src/mq/parameters.rs: cargo run -p hetmp-shmem-surface -- --write */
/* The meaning of an error in English. Never NULL. */
const char *mqErrorText(int err);
/* The name of an error's constant. Never NULL. */
const char *mqErrorName(int err);
/* Slaves of a cluster: on x86 the CPUs this process may use, on chips what they have. 0 for a bad cluster. */
int mGetSlaveCoreNum(int cluster);
/* The largest number of slaves that can be started: on x86 more than mGetSlaveCoreNum says. */
int mGetMaxSlaveCoreNum(int cluster);
/* Clusters of the platform. */
int mGetClusterNum(void);
/* Bytes of a slave's local store, or of its cluster's shared memory, of a kind. */
size_t mGetLocalMemSize(int kind);
/* What is left of that. */
size_t mGetLocalMemFree(int cluster, int slave, int kind);
/* Bits of a SIMD register of a slave. */
int mGetSimdWidth(void);
/* The platform's name. */
const char *mGetPlatform(void);
/* The same for the calling slave. */
int sGetSlaveCoreNum(void);
size_t sGetLocalMemSize(int kind);
size_t sGetLocalMemFree(int kind);
int sGetSimdWidth(void);
/* The calling slave's number; -1 on a thread that is no slave. */
int sGetSlaveId(void);
/* The calling slave's cluster; -1 on a thread that is no slave. */
int sGetClusterId(void);
/* END generated */

/* -- Slave threads ----------------------------------------------------------------------------------- */

/* BEGIN generated from runtime/abi/src/mq/threads.rs: cargo run -p hetmp-shmem-surface -- --write */
/* A group of slave threads; m_num is 0 when they could not be started. */
typedef struct ThreadID {
    int m_cluster;
    int m_num;
    uint64_t m_thread_id;
} ThreadID;
/* Starts slaves 0 to n-1 of a cluster, each running `void fn(void *arg)` (a result is ignored). A failure is
 * one line on standard error and a ThreadID with m_num 0. A slave's number must not be running. */
struct ThreadID mStartSlaveThreads(int cluster, int n, void *fn, void *arg);
/* Waits until all slaves of the group have ended. Both forms, with and without cluster, compile. A slave that
 * waits for a message which only the waiting master could send gets MQ_DEADLOCK instead. */
void mWaitSlaveThreads(int cluster, struct ThreadID t);
/* Forgets a group; waits for it first where it still runs. Both forms compile. */
void mDestroySlaveThreads(int cluster, struct ThreadID t);
/* 1 while the slave runs, else 0. */
int mIsSlaveAlive(int cluster, int slave);
/* Loads code for slaves: on MT-3000 the cluster's image, on x86 a shared object. A name without a slash is a file
 * of the current directory. MQ_OK or MQ_BAD_IMAGE. */
int mLoadSlaveImage(int cluster, const char *path);
/* The function of a loaded image or of the program, for mStartSlaveThreads; NULL if there is none. */
void *mSlaveFunction(const char *name);
/* END generated */

/* -- Queues ------------------------------------------------------------------------------------------ */

/* BEGIN generated from runtime/abi/src/mq/queues.rs: cargo run -p hetmp-shmem-surface -- --write */
/* Creates a queue between the master and a slave of the cluster, before or after the slave is started.
 * master_addr: NULL, or where the master's slots lie (master_slots times msg_bytes rounded up to 8).
 * The slave's slots (slave_slots messages, each rounded up to 64 bytes) are taken from its local store.
 * Returns the handle, 0 or more; -1 on error. */
int mCreateQueue(int cluster,
                 const char *name,
                 int slave,
                 size_t msg_bytes,
                 int master_slots,
                 int slave_slots,
                 void *master_addr,
                 SlaveMemKind kind,
                 QueueDirection dir,
                 int *err);
/* Destroys an empty queue; a slave that waits on it gets MQ_DESTROYED. With messages in it, queued or
 * held: MQ_NOT_EMPTY, and nothing happens. */
void mDestroyQueue(int slave, int handle, int *err);
/* Destroys a queue with what is in it. Its slave must not run (MQ_SLAVES_RUNNING). Returns how many messages
 * were dropped, or -1. */
int mDiscardQueue(int slave, int handle, int *err);
/* From now on the calling thread uses the master's end. The caller sees to it that the previous user has
 * finished (and synchronises with it). */
void mAdoptQueue(int slave, int handle, int *err);
/* The handle of a slave's queue by name; -1 if there is none. With several clusters the lowest one's counts. */
int mGetQueueHandle(int slave, const char *name, int *err);
/* 1 if the queue exists, else 0. */
int mQueueExists(int slave, int handle);
/* The largest message in bytes. */
size_t mGetQueueMsgSize(int slave, int handle, int *err);
/* Messages that were sent and are not yet released. */
int mGetQueueMsgNum(int slave, int handle, int *err);
/* A QueueDirection; -1 on error. */
int mGetQueueDirection(int slave, int handle, int *err);
/* The same for the calling slave. */
int sGetQueueHandle(const char *name, int *err);
int sQueueExists(int handle);
size_t sGetQueueMsgSize(int handle, int *err);
int sGetQueueMsgNum(int handle, int *err);
int sGetQueueDirection(int handle, int *err);
/* END generated */

/* -- Messages ---------------------------------------------------------------------------------------- */

/* BEGIN generated from runtime/abi/src/mq/messages.rs: cargo run -p hetmp-shmem-surface -- --write */
/* Takes a slot for the program to fill; waits for a free one. The m-form is the master's, the s-form a slave's. */
HETMP_MQ_CALL void *mAllocateMsg(int slave, int handle, int *err);
HETMP_MQ_CALL void *sAllocateMsg(int handle, int *err);
/* The same without waiting: NULL with MQ_WOULD_BLOCK if no slot is free. */
HETMP_MQ_CALL void *mTryAllocateMsg(int slave, int handle, int *err);
HETMP_MQ_CALL void *sTryAllocateMsg(int handle, int *err);
/* Sends a message. bytes: how many of the message count, 0 to the queue's message size. */
HETMP_MQ_CALL void mSendMsg(int slave, int handle, void *msg, int bytes, int *err);
HETMP_MQ_CALL void sSendMsg(int handle, void *msg, int bytes, int *err);
/* The next message; waits for one. *bytes: its length. */
HETMP_MQ_CALL void *mRecvMsg(int slave, int handle, int *bytes, int *err);
HETMP_MQ_CALL void *sRecvMsg(int handle, int *bytes, int *err);
/* The same without waiting: NULL with MQ_WOULD_BLOCK if there is none. */
HETMP_MQ_CALL void *mTryRecvMsg(int slave, int handle, int *bytes, int *err);
HETMP_MQ_CALL void *sTryRecvMsg(int handle, int *bytes, int *err);
/* Gives a received message's slot back. */
HETMP_MQ_CALL void mReleaseMsg(int slave, int handle, void *msg, int *err);
HETMP_MQ_CALL void sReleaseMsg(int handle, void *msg, int *err);
/* Several messages at once. Allocate and receive wait for the first message, and also take those that the last
 * look at the other side showed, up to `want` and up to the end of the ring. `*got` is their number. Message i
 * lies at the returned address plus i times `*stride` bytes. Send gives all messages the same length. Send and
 * release take the n oldest messages that the caller holds. */
HETMP_MQ_CALL void *mAllocateBatch(int slave, int handle, int want, int *got, size_t *stride, int *err);
HETMP_MQ_CALL void *sAllocateBatch(int handle, int want, int *got, size_t *stride, int *err);
/* Sends the n oldest allocated messages. */
HETMP_MQ_CALL void mSendBatch(int slave, int handle, void *first, int n, int bytes, int *err);
HETMP_MQ_CALL void sSendBatch(int handle, void *first, int n, int bytes, int *err);
/* Receives several messages. */
HETMP_MQ_CALL void *mRecvBatch(int slave, int handle, int want, int *got, size_t *stride, int *err);
HETMP_MQ_CALL void *sRecvBatch(int handle, int want, int *got, size_t *stride, int *err);
/* Gives the slots of the n oldest received messages back. */
HETMP_MQ_CALL void mReleaseBatch(int slave, int handle, void *first, int n, int *err);
HETMP_MQ_CALL void sReleaseBatch(int handle, void *first, int n, int *err);
/* The paper's other spellings of sRecvMsg and sTryRecvMsg. */
HETMP_MQ_CALL void *sResvMsg(int handle, int *bytes, int *err);
HETMP_MQ_CALL void *sTryResvMsg(int handle, int *bytes, int *err);
/* END generated */

/* -- Local store and DMA of a slave, for code that does without queues --------------------------------- */

/* BEGIN generated from runtime/abi/src/mq/local.rs: cargo run -p hetmp-shmem-surface -- --write */
/* Memory in the slave's own local store, 64-byte aligned; it is given back by sFree or when the slave ends. */
void *sMalloc(int kind, size_t bytes, int *err);
void sFree(void *p, int *err);
/* Start a transfer of `bytes`; when the transfer is done, *reply grows by 1 (sDmaTest and sDmaWait look at it).
 * Get: from master memory to the local store; Put: the reverse. */
void sDmaGet(void *local, const void *master, size_t bytes, volatile int *reply, int *err);
void sDmaPut(void *master, const void *local, size_t bytes, volatile int *reply, int *err);
/* 1 if *reply has reached n, else 0. */
int sDmaTest(volatile int *reply, int n);
/* Waits until *reply has reached n, or, after one line, until no transfer is left that could add to it. */
void sDmaWait(volatile int *reply, int n);
/* Copy between the local store and master memory at once. A modelled platform charges the time of direct accesses. */
void sDirectRead(void *local, const void *master, size_t bytes);
void sDirectWrite(void *master, const void *local, size_t bytes);
/* END generated */

/* -- Both forms of waiting and destroying, and starting from C++ ----------------------------------------- */

#ifdef __cplusplus
} /* extern "C" */
static inline void mWaitSlaveThreads(ThreadID t) { mWaitSlaveThreads(t.m_cluster, t); }
static inline void mDestroySlaveThreads(ThreadID t) { mDestroySlaveThreads(t.m_cluster, t); }
/* C++ does not convert a function to a void * implicitly. */
static inline ThreadID mStartSlaveThreads(int cluster, int n, void (*fn)(void *), void *arg) {
    return mStartSlaveThreads(cluster, n, reinterpret_cast<void *>(fn), arg);
}
extern "C" {
#else
static inline void hetmp_mq_wait_1(ThreadID t) { mWaitSlaveThreads(t.m_cluster, t); }
static inline void hetmp_mq_destroy_1(ThreadID t) { mDestroySlaveThreads(t.m_cluster, t); }
#define HETMP_MQ_PICK(_1, _2, NAME, ...) NAME
#define mWaitSlaveThreads(...) HETMP_MQ_PICK(__VA_ARGS__, mWaitSlaveThreads, hetmp_mq_wait_1, 0)(__VA_ARGS__)
#define mDestroySlaveThreads(...) \
    HETMP_MQ_PICK(__VA_ARGS__, mDestroySlaveThreads, hetmp_mq_destroy_1, 0)(__VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

/* -- Slave functions of programs that are to run on the chips, too ---------------------------------------- */

/* MQ_SLAVE_FUNCTION(name, arg) { ... }   in the slaves' code: the function.
 * MQ_DECLARE_SLAVE(name);                in the master's code, at file level.
 * mStartSlaveThreads(c, n, MQ_SLAVE(name), arg)
 * SW26010's compiler gives slave functions a prefix; MT-3000 starts them by name, from an image. */
#if defined(MT3_VERSION)
/* Slaves need the device's own header. Its compiler is for no CPU that a master runs on; a stand-in says which side it
   is. */
#if defined(HETMP_MQ_SLAVE) || (!defined(__aarch64__) && !defined(__x86_64__))
#include "hthread_device.h"
#endif
#define MQ_DECLARE_SLAVE(name) typedef int hetmp_mq_declared_##name
#define MQ_SLAVE(name) ((void *)(uintptr_t) #name)
#define MQ_SLAVE_FUNCTION(name, arg)                                \
    int hetmp_mq_slave_begin(void *start, int number);              \
    void hetmp_mq_slave_end(void);                                  \
    static void name##_body(void *arg);                             \
    __global__ void name(void *hetmp_start, void *hetmp_argument) { \
        if (hetmp_mq_slave_begin(hetmp_start, get_thread_id())) {   \
            name##_body(hetmp_argument);                            \
            hetmp_mq_slave_end();                                   \
        }                                                           \
    }                                                               \
    static void name##_body(void *arg)
#elif defined(SW5_VERSION)
#define MQ_DECLARE_SLAVE(name) extern void slave_##name(void *)
#define MQ_SLAVE(name) ((void *)slave_##name)
#ifdef HETMP_MQ_STANDIN
#define MQ_SLAVE_FUNCTION(name, arg) void slave_##name(void *arg)
#else
#define MQ_SLAVE_FUNCTION(name, arg) void name(void *arg)
#endif
#else
#define MQ_DECLARE_SLAVE(name) extern void name(void *)
#define MQ_SLAVE(name) ((void *)name)
#define MQ_SLAVE_FUNCTION(name, arg) void name(void *arg)
#endif

#ifndef HETMP_MQ_NO_INLINE
#include "mq_inline.h"
#endif

#endif
