/* Message queues on the chips themselves: what the master's and the slaves' halves share.
 *
 * The interface of hetmp/mq.h in plain C, over the chips' own thread and DMA libraries, for compilers and cores on
 * which no Rust runs. One macro chooses the backend, as in the paper (Chen and Zhou 2023, section 3.4 and table 6):
 *
 *   SW5_VERSION  SW26010, athread
 *   MT3_VERSION  MT-3000, hThread
 *   AVX_VERSION  any POSIX machine, pthread
 *
 * mq_master.c is compiled for the master (libMHMessQueue.a), mq_slave.c for the slaves (libSHMessQueue.a).
 *
 * The queue is the one of two stages (runtime/mq/src/staged.rs has it in Rust, checked by models): per queue a list of
 * states of the master's slots in the master's memory, which both sides read; the slave's list, and every position, in
 * the memory of the side that uses it. Only slaves start transfers.
 *
 *   master to slave   master slot Idle, Locked, Ready, Tran, Idle; slave slot Idle, Tran, Ready, Locked, Idle
 *   slave to master   slave slot Idle, Locked, Ready, Tran, Idle; master slot Idle, Tran, Ready, Locked, Idle
 *
 * A slot's state is stored only by the side that has the slot, so no lock and no atomic read-modify-write is needed.
 *
 * Calls of the chips' libraries were taken from public sources:
 *   athread  athread.h and slave.h as published with the Sunway ports of LAMMPS, SWE and POP (GitHub), and the use of
 *            athread_get and athread_put with a polled reply counter in the same programs
 *   hThread  hthread_host.h (P. Zhang, NUDT, 2020) and the declarations of hthread_device.h that appear in published
 *            preprocessed kernels for MT-3000; __gsm__ and hbm_malloc as published kernels and their tools use them
 * Of hThread's ways to learn of a transfer's end only dma_wait is used: what dma_query returns is not documented there.
 */
#ifndef HETMP_MQ_CHIP_H
#define HETMP_MQ_CHIP_H

#include "hetmp/mq.h"

#define MQ_CLUSTERS 4
#define MQ_SLAVES 64
#define MQ_QUEUES 16
#define MQ_NAME 64

enum mq_state { MQ_IDLE, MQ_LOCKED, MQ_READY, MQ_TRAN };

/* A state and a length in one word. */
typedef uint64_t mq_word;
#define MQ_PACK(state, bytes) ((mq_word)(state) | (mq_word)(uint32_t)(bytes) << 32)
#define MQ_STATE(word) ((int)((word) & 3))
#define MQ_BYTES(word) ((int)((word) >> 32))

/* Loads and stores of what the other side reads: in order with the data before (after) them. */
#if defined(SW5_VERSION) && !defined(HETMP_MQ_STANDIN)
#define MQ_BARRIER() __asm__ volatile("memb" ::: "memory")
#define MQ_LOAD(word) mq_load(&(word))
#define MQ_STORE(word, value) mq_store(&(word), value)
static inline mq_word mq_load(const volatile mq_word *p) {
    mq_word w = *p;
    MQ_BARRIER();
    return w;
}
static inline void mq_store(volatile mq_word *p, mq_word w) {
    MQ_BARRIER();
    *p = w;
}
#elif defined(MT3_VERSION) && !defined(HETMP_MQ_STANDIN)
#define MQ_LOAD(word) mq_load(&(word))
#define MQ_STORE(word, value) mq_store(&(word), value)
static inline mq_word mq_load(const volatile mq_word *p) {
    mq_word w = *p;
    __sync_synchronize();
    return w;
}
static inline void mq_store(volatile mq_word *p, mq_word w) {
    __sync_synchronize();
    *p = w;
}
#else
#define MQ_SET(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)
#define MQ_LOAD(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define MQ_STORE(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELEASE)
#endif

/* A store that orders nothing. */
#ifndef MQ_SET
#define MQ_SET(word, value) ((word) = (value))
#endif

/* The master's half of a queue (HMessQueue of the paper), in memory that slaves reach. */
struct mq_queue {
    char name[MQ_NAME];
    volatile mq_word used;   /* 1: exists; stored last */
    int handle;
    int direction;
    int kind;
    uint32_t msg_bytes;
    uint32_t master_slots;
    uint32_t slave_slots;
    uint64_t stride;         /* bytes between the master's slots */
    char *slots;
    uint64_t place;          /* in the global shared memory, where the slave's slots lie there */
    volatile mq_word *states; /* MState */
    volatile mq_word in_store; /* messages and held slots at the slave, told by the slave */
    /* The master's own. */
    int own_memory;
    uint32_t next, oldest, held;
};

/* One slave's row (HMQLinkedListHead). */
struct mq_row {
    volatile mq_word alive;  /* 0 not started, 1 runs, 2 ended */
    volatile mq_word count;  /* queues ever created: handles are below this */
    uint64_t store_taken[2]; /* bytes of the local store that queues were promised, by mq_area */
    struct mq_queue queues[MQ_QUEUES];
};

/* One cluster's rows (HMQTable). */
struct mq_table {
    int cluster;
    volatile mq_word joining; /* 1: the master waits for the slaves' end, and answers nobody */
    uint64_t shared_taken[2]; /* bytes of the memories that the slaves share, promised likewise */
    struct mq_row rows[MQ_SLAVES];
};

/* What a slave is started with. */
struct mq_start {
    struct mq_table *table;
    void (*function)(void *);
    void *argument;
    int number; /* of the slave, where each has a record of its own */
};

/* The chip's numbers. */
#if defined(SW5_VERSION)
#define MQ_PLATFORM "sw26010"
#define MQ_SLAVE_NUM 64
#define MQ_STORE_BYTES(kind) ((void)(kind), (size_t)65536)
#define MQ_SIMD_BITS 256
#elif defined(MT3_VERSION)
#define MQ_PLATFORM "mt3000"
#define MQ_SLAVE_NUM 24
/* Of the 6 MB of GSM, a part is the queues': published programs declare the rest as __gsm__ variables of their own. */
#ifndef MQ_GSM_BYTES
#define MQ_GSM_BYTES 1048576
#endif
#define MQ_STORE_BYTES(kind)                           \
    ((size_t)((kind) == SlaveScalarMem       ? 65536   \
              : (kind) == SlaveArrayMem      ? 786432  \
              : (kind) == SlaveGlobalMem     ? MQ_GSM_BYTES \
                                             : 50331648))
#define MQ_SIMD_BITS 1024
#else
#define MQ_PLATFORM "x86"
#define MQ_SLAVE_NUM 64
#define MQ_STORE_BYTES(kind) ((void)(kind), (size_t)16777216)
/* The processor's, whatever the library was compiled for. */
#if defined(__x86_64__)
#define MQ_SIMD_BITS \
    (__builtin_cpu_supports("avx512f") ? 512 : __builtin_cpu_supports("avx2") ? 256 : 128)
#else
#define MQ_SIMD_BITS 128
#endif
#endif

static inline int mq_is_kind(int kind) { return kind >= SlaveScalarMem && kind <= SlaveHighBandwidthMem; }

/* The memory that a kind means: 0 and 1 are the slave's, 2 and 3 its cluster's. Only MT-3000 has more than one. */
static inline int mq_area(int kind) {
#if defined(MT3_VERSION)
    return kind;
#else
    (void)kind;
    return 0;
#endif
}

/* How much of it queues were promised. */
static inline uint64_t *mq_taken(struct mq_table *t, int slave, int kind) {
    switch (mq_area(kind)) {
    case SlaveGlobalMem: return &t->shared_taken[0];
    case SlaveHighBandwidthMem: return &t->shared_taken[1];
    case SlaveArrayMem: return &t->rows[slave].store_taken[1];
    default: return &t->rows[slave].store_taken[0];
    }
}

/* Does the calling thread belong to a slave? Only where slaves are threads could one call the master's functions. */
#if !defined(SW5_VERSION) && !defined(MT3_VERSION)
int hetmp_mq_on_slave(void);
#define MQ_ON_SLAVE() hetmp_mq_on_slave()
#else
#define MQ_ON_SLAVE() 0
#endif

/* Between two looks at what another core changes. A chip's cores have nothing else to do; on stand-ins they are
 * threads, which may wait for each other's processor. */
#if defined(HETMP_MQ_STANDIN) || (!defined(SW5_VERSION) && !defined(MT3_VERSION))
#include <sched.h>
#define MQ_PAUSE() ((void)sched_yield())
#else
#define MQ_PAUSE() ((void)0)
#endif

#define MQ_ROUND(n, to) (((uint64_t)(n) + (to) - 1) / (to) * (to))

static inline int mq_fail(int *err, int why) {
    if (err) *err = why;
    return why;
}

#endif
