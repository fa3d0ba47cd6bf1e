/* Posting from where the data are made (hetmp/device.h): one-sided operations of OpenSHMEM from inside of a kernel.
 *
 * A hetmp_device_queue is a send queue of 64-byte descriptors in memory that a device can map. When a queue is opened,
 * the library fills it with templates. Posting an operation stores only the words that differ from the template
 * (target, two addresses, length). Ringing stores one word. Posting takes no lock, and needs no call into the library
 * and no CPU thread: Hamidouche and LeBeane, "GPU Initiated OpenSHMEM" (PPoPP 2020), section 5.3. The functions here
 * are inline and compile as C99 and later, C++11 and later, CUDA and HIP (as __host__ __device__ functions).
 *
 *     hetmp_device_queue q[THREADS];                          // one for each initiator
 *     hetmp_device_queue_open(SHMEM_TEAM_WORLD, 64, &q[i]);   // on the host, any PE, not collective
 *     #pragma omp parallel                                    // a kernel; a workgroup is a thread here
 *     {
 *         hetmp_device_queue *mine = &q[omp_get_thread_num()];
 *         hetmp_put_signal(mine, right, halo, row, bytes, &arrived, step);
 *         hetmp_ring(mine);                                   // the posted operations begin
 *         ... compute ...
 *         hetmp_quiet(mine);                                  // they are done, their sources may be changed
 *     }
 *     hetmp_device_queue_close(&q[i]);
 *
 * Rules
 *   - A queue has one initiator at a time: a thread, or the leader of a workgroup. Another one may take over, with the
 *     same synchronisation as for ordinary data. A device may copy the structure to faster memory, use the copy, and
 *     copy it back. Open queues after shmem_init, and close them (or stop using them) before shmem_finalize.
 *   - Operations are nonblocking. A source must keep its content until hetmp_quiet. Values of p, of signals and of
 *     atomics are stored in the descriptor. Operations are not ordered among each other: hetmp_fence orders those to
 *     each PE; put_signal orders its signal after its own data.
 *   - PE numbers are those of the team that the queue was opened with. `dest` of puts, atomics and signals, and
 *     `source` of gets, are symmetric addresses (symmetric heap or static data) as in shmem.h. The other address is any
 *     memory of this process that the library can read or write.
 *   - Posting to a full queue rings, then waits for room: nothing is dropped. An operation of zero bytes does nothing.
 *   - The engine sees posted operations after hetmp_ring. hetmp_quiet, and posting to a full queue, ring too.
 *
 * Errors
 *   Functions return HETMP_DEVICE_OK, or a negative HETMP_DEVICE_ constant; then nothing was posted. All of them return
 *   HETMP_DEVICE_BAD_QUEUE for a queue that is not open: closed, or all zeros. (A copy of a queue does not know that
 *   the original was closed.) If an operation
 *   fails later, the next hetmp_quiet returns the positive status of the first failed operation.
 *   hetmp_device_error_text gives the text of both (on the host).
 *
 * Workgroups
 *   Every thread of a workgroup calls a _wg form, with the same arguments. First all threads meet at a barrier, so that
 *   what they wrote is visible. Then the leader posts, rings or waits. Then all meet at a second barrier. Only the
 *   leader's return value has a meaning. The macros HETMP_WG_LEADER() and HETMP_WG_BARRIER() define the workgroup: by
 *   threadIdx and __syncthreads in CUDA and HIP. On the CPU a workgroup is one OpenMP thread, which is always the
 *   leader and needs no barrier. Define both macros before including this file for groups of another kind.
 *
 * What else kernels use
 *   hetmp/device_wait.h waits for values and tests them; hetmp/device_contexts.h hands queues to workgroups that come
 *   and go; hetmp/device_group.h has barriers and collectives of a team. This file includes them.
 *
 * Caches
 *   A device has memory that its caches pass by (what shmem_malloc returns here), and cached memory, which is faster
 *   and which other devices, so adapters too, see only at the boundaries of kernels: a put from cached memory without a
 *   flush sends what was there at the last one, and what peers put there is seen when the next kernel begins. On this
 *   library's machines memory is coherent; HETMP_NIC_MODEL=gpu shows what a device would do, and without it
 *   hetmp_device_kernel_begin, hetmp_device_kernel_end and hetmp_device_flush do nothing.
 *
 * Doorbells
 *   On the CPU, hetmp_ring stores the doorbell record and calls the library, which wakes a sleeping engine. On a
 *   device, hetmp_ring only stores the doorbell record: open the queue with HETMP_DEVICE_POLLED, so that the engine
 *   keeps looking at the record. hetmp_device_queue_range names the memory to map (for instance with cudaHostRegister).
 */
#ifndef HETMP_DEVICE_H
#define HETMP_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include <shmem.h>

#if defined(__CUDACC__) || defined(__HIP__) || defined(__CUDA__)
#define HETMP_DEVICE_FN static __host__ __device__ inline
#define HETMP_DEVICE_IS_GPU_LANGUAGE 1
#elif defined(__GNUC__)
/* Always, so that the checker of HETMP_NIC_MODEL names lines of the program and not of this file, without optimisation
   too. */
#define HETMP_DEVICE_FN static inline __attribute__((always_inline))
#else
#define HETMP_DEVICE_FN static inline
#endif
/* Defined while a GPU compiler compiles device code. */
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define HETMP_DEVICE_PASS 1
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this layout of hetmp_device_queue. The library refuses programs with another one. */
#define HETMP_DEVICE_LAYOUT 2

enum {
    HETMP_DEVICE_OK = 0,
    HETMP_DEVICE_BAD_PE = -1,      /* not a PE of the team */
    HETMP_DEVICE_BAD_ADDRESS = -2, /* not symmetric, or beyond its end */
    HETMP_DEVICE_MISALIGNED = -3,  /* the word of an atomic, a signal or a p is not aligned to its size */
    HETMP_DEVICE_BAD_QUEUE = -4,   /* the queue is not open */
    HETMP_DEVICE_BAD_VALUE = -5,   /* NULL, or a number of 0 */
    HETMP_DEVICE_NO_MEMORY = -6,   /* no more queues */
    HETMP_DEVICE_BAD_TEAM = -7,    /* SHMEM_TEAM_INVALID */
    HETMP_DEVICE_BAD_DEPTH = -8,   /* not 2 to 65536 */
    HETMP_DEVICE_BAD_FLAG = -9,
    HETMP_DEVICE_BAD_SIZE = -10, /* p: not 1, 2, 4 or 8 bytes */
    HETMP_DEVICE_TOO_LONG = -11, /* more than 1 GiB, where it is not divided */
    HETMP_DEVICE_BAD_SIGNAL = -12,
    HETMP_DEVICE_BAD_COMPARISON = -13,
    HETMP_DEVICE_NO_RANGE = -14,   /* hetmp_device_queue_range: the queue has fewer ranges */
    HETMP_DEVICE_BAD_VERSION = -15, /* the program was compiled with the header of another version */
    HETMP_DEVICE_OTHER_TEAM = -16, /* the queue was opened for another team than the group */
    HETMP_DEVICE_BAD_TYPE = -17,
    HETMP_DEVICE_BAD_OPERATION = -18, /* unknown, or a bitwise one on a float */
    HETMP_DEVICE_NO_ROOM = -19        /* the work memory of the group is too small */
};

/* Flags of hetmp_device_queue_open_flags. */
#define HETMP_DEVICE_POLLED 1 /* the engine keeps looking at the doorbell record: needed if a device rings */

/* BEGIN generated from runtime/shmem and runtime/abi/src/device.rs: cargo run -p hetmp-shmem-surface -- --write */
/* A send queue. Programs use it through the functions of this header only. */
typedef struct hetmp_device_queue {
    /* The rings, in memory that a device can map. First the descriptors: mask + 1 slots of eight words. */
    uint64_t *slots;
    /* The doorbell record: the number of operations announced. */
    uint64_t *posted;
    /* The number of operations done. */
    const uint64_t *done;
    /* The number of completions written. */
    const uint64_t *written;
    /* mask + 1 completions of four words. */
    const uint64_t *completions;
    uint64_t mask;
    /* The parts that all descriptors of this queue share. Word 0: the number of the queue pair, in the high half. */
    uint64_t number;
    /* Word 3: the key of the targets' memory, in both halves. */
    uint64_t keys;
    /* Word 4: the key of this process's memory, in the high half. */
    uint64_t local_key;
    /* Symmetric memory of this PE: first address, length in bytes, and offset in the region of the targets. */
    uint64_t heap;
    uint64_t heap_bytes;
    uint64_t heap_at;
    uint64_t data;
    uint64_t data_bytes;
    uint64_t data_at;
    /* The number in the job of each PE of the team; NULL for the world. */
    const uint32_t *members;
    /* The number of PEs of the team; 0: the queue is not open. */
    uint32_t pes;
    /* Not 0: not POLLED, so hetmp_ring calls the library. */
    uint32_t host_only;
    /* PEs of the job whose memory holds writes back (HETMP_NIC_MODEL=gpu), else 0. */
    uint64_t flush;
    /* Words that only the initiator uses. The number of descriptors written. */
    uint64_t staged;
    /* The number of descriptors announced. */
    uint64_t rung;
    /* Posts that are possible before the next look at `done`. */
    uint64_t credits;
    /* The number of completions read. */
    uint64_t read;
    /* Slots from this position on hold templates for puts. */
    uint64_t plain_from;
    /* Status of the first operation that failed since the last quiet. */
    uint64_t error;
    uint64_t error_value;
    /* The ticket of the fetching operation that the initiator waits for, plus 1. */
    uint64_t awaited;
    /* The value that this operation brought. */
    uint64_t fetched;
    /* HETMP_NIC_MODEL=gpu,check: mask + 1 places in the program that posted; else NULL. */
    uint64_t *sites;
    /* The library's end; NULL: the queue is not open. */
    void *host;
} hetmp_device_queue;
/* Opens a queue of `depth` descriptors (rounded up to a power of two, 2 to 65536) on the host, for operations on the
 * PEs of `team`. Not collective. Programs call hetmp_device_queue_open or hetmp_device_queue_open_flags instead, which
 * add the layout number and the size of the structure that the program was compiled with; others are refused. Returns
 * 0, or a negative HETMP_DEVICE_ constant; then *queue is not open. */
int hetmp_device_queue_open_layout(shmem_team_t team,
                                   size_t depth,
                                   unsigned int flags,
                                   struct hetmp_device_queue *queue,
                                   int layout,
                                   size_t bytes);
/* The library's half of hetmp_device_queue_close, after the header's half has waited until all posted operations were
 * done. Not for programs. */
int hetmp_device_queue_drop(struct hetmp_device_queue *queue);
/* The i-th range of memory that a device has to map for this queue. Returns 0, or HETMP_DEVICE_NO_RANGE if there are
 * only i ranges or fewer. */
int hetmp_device_queue_range(const struct hetmp_device_queue *queue, unsigned int i, void **base, size_t *bytes);
/* Called by hetmp_ring on the host, for a queue that is not polled: wakes the engine. Not for programs. */
void hetmp_device_doorbell(void *host);
/* Called by hetmp_quiet and by a post into a full queue, on the host: waits until the queue's first `done` operations
 * are done. Not for programs. */
void hetmp_device_wait(void *host, uint64_t done);
/* The text of a return value of these functions; never NULL. */
const char *hetmp_device_error_text(int status);
/* Symmetric memory that a device caches (see "Caches" above), as by shmem_malloc (collective; NULL for 0 bytes or a
 * full heap), in whole pages. shmem_free and shmem_realloc take it; after the latter it is ordinary memory. */
void *hetmp_device_malloc_cached(size_t bytes);
/* Writes cached memory back from inside of a kernel; nobody else writes to it meanwhile. */
void hetmp_device_flush(const void *address, size_t bytes);
/* Called on the host before a kernel: it sees what peers have put into cached memory. Nobody uses cached memory then. */
void hetmp_device_kernel_begin(void);
/* Called on the host after a kernel: cached memory is written back. Nobody uses cached memory then. */
void hetmp_device_kernel_end(void);
/* END generated */

/* Opens a queue with flags (HETMP_DEVICE_POLLED), or without. Parameters and errors: hetmp_device_queue_open_layout. */
static inline int hetmp_device_queue_open_flags(shmem_team_t team, size_t depth, unsigned flags,
                                                hetmp_device_queue *queue) {
    return hetmp_device_queue_open_layout(team, depth, flags, queue, HETMP_DEVICE_LAYOUT, sizeof *queue);
}
static inline int hetmp_device_queue_open(shmem_team_t team, size_t depth, hetmp_device_queue *queue) {
    return hetmp_device_queue_open_flags(team, depth, 0, queue);
}

/* ---- Memory: accesses to 64-bit words that are never torn, and their order as the engine sees it (on devices: fences
 * of system scope). */

#if defined(HETMP_DEVICE_PASS)
HETMP_DEVICE_FN void hetmp_word_set(uint64_t *at, uint64_t value) { *(volatile uint64_t *)at = value; }
HETMP_DEVICE_FN uint64_t hetmp_word_get(const uint64_t *at) { return *(const volatile uint64_t *)at; }
/* The engine and the peers see everything that this thread wrote before, no later than this word. */
HETMP_DEVICE_FN void hetmp_word_release(uint64_t *at, uint64_t value) {
    __threadfence_system();
    *(volatile uint64_t *)at = value;
}
HETMP_DEVICE_FN uint64_t hetmp_word_acquire(const uint64_t *at) {
    uint64_t value = *(const volatile uint64_t *)at;
    __threadfence_system();
    return value;
}
HETMP_DEVICE_FN void hetmp_word_publish(void) { __threadfence_system(); }
#else
HETMP_DEVICE_FN void hetmp_word_set(uint64_t *at, uint64_t value) { __atomic_store_n(at, value, __ATOMIC_RELAXED); }
HETMP_DEVICE_FN uint64_t hetmp_word_get(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
HETMP_DEVICE_FN void hetmp_word_release(uint64_t *at, uint64_t value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }
HETMP_DEVICE_FN uint64_t hetmp_word_acquire(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
HETMP_DEVICE_FN void hetmp_word_publish(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
#endif

/* ---- Workgroups. */

#ifndef HETMP_WG_LEADER
#if defined(HETMP_DEVICE_PASS)
#define HETMP_WG_LEADER() (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0)
#define HETMP_WG_BARRIER() __syncthreads()
#else
#define HETMP_WG_LEADER() 1
#define HETMP_WG_BARRIER() ((void)0)
#endif
#endif

/* ---- Descriptors of eight words (runtime/nic/src/descriptor.rs). Word 0: opcode, flags, inline bytes, detail (8 bits
 * each), queue pair (32 bits). 1: PE. 2: remote address. 3: keys. 4: length, local key. 5: local address, or the begin
 * of inline data. 6: operand, or address of the signal. 7: comparand, or value of the signal. */

#define HETMP_D_WORDS 8
#define HETMP_D_COMPLETION_WORDS 4
#define HETMP_D_PUT 1
#define HETMP_D_PUT_SIGNAL 2
#define HETMP_D_GET 3
#define HETMP_D_ATOMIC 4
#define HETMP_D_FENCE 6
#define HETMP_D_SIGNALLED (1u << 8)
#define HETMP_D_INLINE (2u << 8)
#define HETMP_D_FETCH (4u << 8)
#define HETMP_D_INLINE_BYTES(n) ((uint64_t)(n) << 16)
#define HETMP_D_DETAIL(d) ((uint64_t)(d) << 24)
#define HETMP_D_WIDE 0x80u
#define HETMP_D_READ 0u
#define HETMP_D_WRITE 1u
#define HETMP_D_SWAP 2u
#define HETMP_D_COMPARE_SWAP 3u
#define HETMP_D_ADD 4u
#define HETMP_D_AND 5u
#define HETMP_D_OR 6u
#define HETMP_D_XOR 7u
/* In `sites`: an operation that the checker is not to judge. */
#define HETMP_D_UNCHECKED ((uint64_t)1)
/* The longest transfer of one descriptor in bytes. hetmp_put and hetmp_get divide longer transfers. */
#define HETMP_D_LONGEST ((uint64_t)1 << 30)

/* 0, or the error of a queue that is not open. */
HETMP_DEVICE_FN int hetmp_device_closed(const hetmp_device_queue *q) {
    return q->pes ? HETMP_DEVICE_OK : HETMP_DEVICE_BAD_QUEUE;
}

/* Announces all posted operations to the engine. */
HETMP_DEVICE_FN int hetmp_ring(hetmp_device_queue *q) {
    if (q->rung == q->staged) return hetmp_device_closed(q);
    q->rung = q->staged;
    hetmp_word_release(q->posted, q->staged);
#if !defined(HETMP_DEVICE_PASS)
    if (q->host_only) hetmp_device_doorbell(q->host);
#endif
    return HETMP_DEVICE_OK;
}

/* Reads new completions: keeps the first error, and the value of the awaited fetching operation. */
HETMP_DEVICE_FN void hetmp_device_drain(hetmp_device_queue *q) {
    uint64_t written = hetmp_word_acquire(q->written);
    while (q->read != written) {
        const uint64_t *c = q->completions + (q->read & q->mask) * HETMP_D_COMPLETION_WORDS;
        uint64_t status = hetmp_word_get(c + 1) & 0xffffffffu;
        if (status != 0) {
            if (q->error == 0) {
                q->error = status;
                q->error_value = hetmp_word_get(c + 2);
            }
        } else if (hetmp_word_get(c) + 1 == q->awaited) {
            q->fetched = hetmp_word_get(c + 2);
        }
        q->read++;
    }
}

/* Waits until the queue's first `done` operations are done. */
HETMP_DEVICE_FN void hetmp_device_wait_done(hetmp_device_queue *q, uint64_t done) {
#if defined(HETMP_DEVICE_PASS)
    while (hetmp_word_acquire(q->done) < done) {}
#else
    if (hetmp_word_acquire(q->done) < done) hetmp_device_wait(q->host, done);
#endif
}

/* The place in the program that posts, for the checker's report; 0 where it cannot be told. */
#if defined(__GNUC__) && defined(__x86_64__) && !defined(HETMP_DEVICE_PASS)
HETMP_DEVICE_FN uint64_t hetmp_device_here(void) {
    uint64_t here;
    __asm__ volatile("leaq 0(%%rip), %0" : "=r"(here));
    return here;
}
#elif defined(__GNUC__) && defined(__aarch64__) && !defined(HETMP_DEVICE_PASS)
HETMP_DEVICE_FN uint64_t hetmp_device_here(void) {
    uint64_t here;
    __asm__ volatile("adr %0, ." : "=r"(here));
    return here;
}
#else
HETMP_DEVICE_FN uint64_t hetmp_device_here(void) { return 0; }
#endif

/* The next slot; waits for a free one. An operation under way becomes at most one completion that is not read yet. So
 * the sum of operations under way and unread completions grows only by posting. While the sum is below the depth,
 * neither ring can overrun. */
HETMP_DEVICE_FN uint64_t *hetmp_device_slot(hetmp_device_queue *q) {
    if (q->credits == 0) {
        uint64_t done = hetmp_word_acquire(q->done);
        if (q->staged - done > q->mask) {
            hetmp_ring(q);
            hetmp_device_wait_done(q, q->staged - q->mask);
            done = hetmp_word_acquire(q->done);
        }
        /* The completions of operations that are done have been written: `drain` reads them. Those that are written
         * later belong to operations that count as under way. */
        hetmp_device_drain(q);
        q->credits = q->mask + 1 - (q->staged - done);
        if (q->sites) { /* checked: every post comes by here */
            hetmp_word_set(q->sites + (q->staged & q->mask), hetmp_device_here());
            q->credits = 1;
        }
    }
    q->credits--;
    return q->slots + (q->staged & q->mask) * HETMP_D_WORDS;
}

/* 1 if all posted operations are done, else 0. */
HETMP_DEVICE_FN int hetmp_is_quiet(const hetmp_device_queue *q) {
    if (q->pes == 0) return HETMP_DEVICE_BAD_QUEUE;
    return hetmp_word_acquire(q->done) == q->staged;
}

/* The offset of `bytes` at a symmetric address of this PE in the region of a target. All ones: the address is not
 * symmetric. */
HETMP_DEVICE_FN uint64_t hetmp_device_place(const hetmp_device_queue *q, const void *address, uint64_t bytes) {
    uint64_t off = (uint64_t)(uintptr_t)address - q->heap;
    if (off < q->heap_bytes && bytes <= q->heap_bytes - off) return off + q->heap_at;
    off = (uint64_t)(uintptr_t)address - q->data;
    if (off < q->data_bytes && bytes <= q->data_bytes - off) return off + q->data_at;
    return ~(uint64_t)0;
}

/* The number in the job of a PE of the team. All ones: the team has no such PE. */
HETMP_DEVICE_FN uint64_t hetmp_device_member(const hetmp_device_queue *q, int pe) {
    if ((uint32_t)pe >= q->pes) return ~(uint64_t)0;
    return q->members ? q->members[pe] : (uint64_t)(uint32_t)pe;
}

/* Why there is no such member. A queue that is not open has none, so that posting needs no check of its own. */
HETMP_DEVICE_FN int hetmp_device_no_member(const hetmp_device_queue *q) {
    return q->pes ? HETMP_DEVICE_BAD_PE : HETMP_DEVICE_BAD_QUEUE;
}

/* Notes that a descriptor of another kind than the template's is stored at this position: the slot is no template when
 * the ring comes round to it. */
HETMP_DEVICE_FN void hetmp_device_spoilt(hetmp_device_queue *q) { q->plain_from = q->staged + q->mask + 2; }

/* Posts a put or get (`opcode`). Stores four words into a template, or six if the slot is no template. */
HETMP_DEVICE_FN void hetmp_device_patch(hetmp_device_queue *q, uint64_t opcode, uint64_t pe, uint64_t remote,
                                        const void *local, uint64_t bytes) {
    uint64_t *slot = hetmp_device_slot(q);
    if (q->staged < q->plain_from || opcode != HETMP_D_PUT) {
        hetmp_word_set(slot + 0, q->number | opcode);
        hetmp_word_set(slot + 3, q->keys);
        if (opcode != HETMP_D_PUT) hetmp_device_spoilt(q);
    }
    hetmp_word_set(slot + 1, pe);
    hetmp_word_set(slot + 2, remote);
    hetmp_word_set(slot + 4, q->local_key | bytes);
    hetmp_word_set(slot + 5, (uint64_t)(uintptr_t)local);
    q->staged++;
}

HETMP_DEVICE_FN int hetmp_device_transfer(hetmp_device_queue *q, uint64_t opcode, int pe, const void *symmetric,
                                          const void *local, size_t bytes) {
    uint64_t to = hetmp_device_member(q, pe), at, left = bytes;
    const char *here = (const char *)local;
    if (to == ~(uint64_t)0) return hetmp_device_no_member(q);
    if (bytes == 0) return HETMP_DEVICE_OK;
    at = hetmp_device_place(q, symmetric, bytes);
    if (at == ~(uint64_t)0) return HETMP_DEVICE_BAD_ADDRESS;
    while (left > HETMP_D_LONGEST) {
        hetmp_device_patch(q, opcode, to, at, here, HETMP_D_LONGEST);
        at += HETMP_D_LONGEST;
        here += HETMP_D_LONGEST;
        left -= HETMP_D_LONGEST;
    }
    hetmp_device_patch(q, opcode, to, at, here, left);
    return HETMP_DEVICE_OK;
}

/* Posts all eight words. */
HETMP_DEVICE_FN void hetmp_device_post(hetmp_device_queue *q, uint64_t w0, uint64_t pe, uint64_t remote, uint64_t w3,
                                       uint64_t w4, uint64_t w5, uint64_t w6, uint64_t w7) {
    uint64_t *slot = hetmp_device_slot(q);
    hetmp_word_set(slot + 0, q->number | w0);
    hetmp_word_set(slot + 1, pe);
    hetmp_word_set(slot + 2, remote);
    hetmp_word_set(slot + 3, w3);
    hetmp_word_set(slot + 4, w4);
    hetmp_word_set(slot + 5, w5);
    hetmp_word_set(slot + 6, w6);
    hetmp_word_set(slot + 7, w7);
    hetmp_device_spoilt(q);
    q->staged++;
}

/* ---- Operations. All nonblocking; see "Rules". */

/* Writes `bytes` from `source` to `dest` at `pe`. */
HETMP_DEVICE_FN int hetmp_put(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes) {
    return hetmp_device_transfer(q, HETMP_D_PUT, pe, dest, source, bytes);
}

/* Reads `bytes` from `source` at `pe` into `dest`. */
HETMP_DEVICE_FN int hetmp_get(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes) {
    return hetmp_device_transfer(q, HETMP_D_GET, pe, source, dest, bytes);
}

/* Like hetmp_put, but stores the whole descriptor. For benchmarks, to measure what templates save. */
HETMP_DEVICE_FN int hetmp_put_built(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes) {
    uint64_t to = hetmp_device_member(q, pe), at;
    if (to == ~(uint64_t)0) return hetmp_device_no_member(q);
    if (bytes == 0) return HETMP_DEVICE_OK;
    at = hetmp_device_place(q, dest, bytes);
    if (at == ~(uint64_t)0) return HETMP_DEVICE_BAD_ADDRESS;
    if (bytes > HETMP_D_LONGEST) return HETMP_DEVICE_TOO_LONG;
    hetmp_device_post(q, HETMP_D_PUT, to, at, q->keys, q->local_key | bytes, (uint64_t)(uintptr_t)source, 0, 0);
    return HETMP_DEVICE_OK;
}

/* Writes the low `bytes` (1, 2, 4 or 8) of `value` to `dest` at `pe`. The value is stored in the descriptor. */
HETMP_DEVICE_FN int hetmp_p(hetmp_device_queue *q, int pe, void *dest, uint64_t value, unsigned bytes) {
    uint64_t to = hetmp_device_member(q, pe), at;
    if (to == ~(uint64_t)0) return hetmp_device_no_member(q);
    if (bytes == 0 || bytes > 8 || (bytes & (bytes - 1)) != 0) return HETMP_DEVICE_BAD_SIZE;
    if (((uintptr_t)dest & (bytes - 1)) != 0) return HETMP_DEVICE_MISALIGNED;
    at = hetmp_device_place(q, dest, bytes);
    if (at == ~(uint64_t)0) return HETMP_DEVICE_BAD_ADDRESS;
    hetmp_device_post(q, HETMP_D_PUT | HETMP_D_INLINE | HETMP_D_INLINE_BYTES(bytes), to, at, q->keys, bytes, value, 0,
                      0);
    return HETMP_DEVICE_OK;
}
HETMP_DEVICE_FN int hetmp_p32(hetmp_device_queue *q, int pe, uint32_t *dest, uint32_t value) {
    return hetmp_p(q, pe, dest, value, 4);
}
HETMP_DEVICE_FN int hetmp_p64(hetmp_device_queue *q, int pe, uint64_t *dest, uint64_t value) {
    return hetmp_p(q, pe, dest, value, 8);
}

HETMP_DEVICE_FN int hetmp_device_signal_place(const hetmp_device_queue *q, const uint64_t *signal, int op,
                                              uint64_t *at) {
    if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD) return HETMP_DEVICE_BAD_SIGNAL;
    if (((uintptr_t)signal & 7) != 0) return HETMP_DEVICE_MISALIGNED;
    *at = hetmp_device_place(q, signal, 8);
    return *at == ~(uint64_t)0 ? HETMP_DEVICE_BAD_ADDRESS : HETMP_DEVICE_OK;
}

/* Writes `bytes` (at most 1 GiB), then sets or adds to `signal` at the same PE. The PE never sees the signal before the
 * data. */
HETMP_DEVICE_FN int hetmp_put_signal_op(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes,
                                        uint64_t *signal, uint64_t value, int op) {
    uint64_t to = hetmp_device_member(q, pe), at = 0, signal_at = 0;
    int bad;
    if (to == ~(uint64_t)0) return hetmp_device_no_member(q);
    bad = hetmp_device_signal_place(q, signal, op, &signal_at);
    if (bad) return bad;
    if (bytes != 0) at = hetmp_device_place(q, dest, bytes);
    if (at == ~(uint64_t)0) return HETMP_DEVICE_BAD_ADDRESS;
    if (bytes > HETMP_D_LONGEST) return HETMP_DEVICE_TOO_LONG;
    if (bytes == 0) /* the signal alone; an address that moves nothing must still lie in the region */
        hetmp_device_post(q, HETMP_D_PUT_SIGNAL | HETMP_D_INLINE | HETMP_D_DETAIL(op), to, signal_at, q->keys, 0, 0,
                          signal_at, value);
    else
        hetmp_device_post(q, HETMP_D_PUT_SIGNAL | HETMP_D_DETAIL(op), to, at, q->keys, q->local_key | bytes,
                          (uint64_t)(uintptr_t)source, signal_at, value);
    return HETMP_DEVICE_OK;
}
HETMP_DEVICE_FN int hetmp_put_signal(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes,
                                     uint64_t *signal, uint64_t value) {
    return hetmp_put_signal_op(q, pe, dest, source, bytes, signal, value, SHMEM_SIGNAL_SET);
}

/* Writes a 64-bit value, then sets a signal. Both values are stored in the descriptor. */
HETMP_DEVICE_FN int hetmp_p64_signal(hetmp_device_queue *q, int pe, uint64_t *dest, uint64_t value, uint64_t *signal,
                                     uint64_t signal_value) {
    uint64_t to = hetmp_device_member(q, pe), at, signal_at = 0;
    int bad;
    if (to == ~(uint64_t)0) return hetmp_device_no_member(q);
    if (((uintptr_t)dest & 7) != 0) return HETMP_DEVICE_MISALIGNED;
    bad = hetmp_device_signal_place(q, signal, SHMEM_SIGNAL_SET, &signal_at);
    if (bad) return bad;
    at = hetmp_device_place(q, dest, 8);
    if (at == ~(uint64_t)0) return HETMP_DEVICE_BAD_ADDRESS;
    hetmp_device_post(q,
                      HETMP_D_PUT_SIGNAL | HETMP_D_INLINE | HETMP_D_INLINE_BYTES(8) | HETMP_D_DETAIL(SHMEM_SIGNAL_SET),
                      to, at, q->keys, 8, value, signal_at, signal_value);
    return HETMP_DEVICE_OK;
}

HETMP_DEVICE_FN int hetmp_device_atomic(hetmp_device_queue *q, int pe, const void *dest, unsigned op, unsigned bytes,
                                        uint64_t flags, uint64_t operand, uint64_t comparand) {
    uint64_t to = hetmp_device_member(q, pe), at;
    if (to == ~(uint64_t)0) return hetmp_device_no_member(q);
    if (((uintptr_t)dest & (bytes - 1)) != 0) return HETMP_DEVICE_MISALIGNED;
    at = hetmp_device_place(q, dest, bytes);
    if (at == ~(uint64_t)0) return HETMP_DEVICE_BAD_ADDRESS;
    hetmp_device_post(q, HETMP_D_ATOMIC | flags | HETMP_D_DETAIL(op | (bytes == 8 ? HETMP_D_WIDE : 0)), to, at,
                      q->keys, bytes, 0, operand, comparand);
    return HETMP_DEVICE_OK;
}

/* Atomic updates, which return no old value. */
HETMP_DEVICE_FN int hetmp_atomic_add(hetmp_device_queue *q, int pe, uint64_t *dest, uint64_t value) {
    return hetmp_device_atomic(q, pe, dest, HETMP_D_ADD, 8, 0, value, 0);
}
HETMP_DEVICE_FN int hetmp_atomic_add32(hetmp_device_queue *q, int pe, uint32_t *dest, uint32_t value) {
    return hetmp_device_atomic(q, pe, dest, HETMP_D_ADD, 4, 0, value, 0);
}
HETMP_DEVICE_FN int hetmp_atomic_set(hetmp_device_queue *q, int pe, uint64_t *dest, uint64_t value) {
    return hetmp_device_atomic(q, pe, dest, HETMP_D_WRITE, 8, 0, value, 0);
}

/* Rings, and waits until all posted operations are done. Returns 0, or the positive status of the first operation that
 * failed since the last quiet; `error_value` is then the value at fault. All operations that did not fail took effect.
 */
HETMP_DEVICE_FN int hetmp_quiet(hetmp_device_queue *q) {
    int status;
    uint64_t pe;
    if (q->pes == 0) return HETMP_DEVICE_BAD_QUEUE;
    for (pe = 0; pe < q->flush; pe++) hetmp_device_post(q, HETMP_D_FENCE, pe, 0, 0, 0, 0, 0, 0);
    hetmp_ring(q);
    hetmp_device_wait_done(q, q->staged);
    hetmp_device_drain(q);
    q->credits = q->sites ? 0 : q->mask + 1;
    status = (int)q->error;
    q->error = 0;
    return status;
}

/* Atomics that return the old value in *old. They wait for the value, and for all operations that were posted before.
 * If an operation fails, they return its status like hetmp_quiet. */
HETMP_DEVICE_FN int hetmp_device_fetch(hetmp_device_queue *q, int pe, const void *dest, unsigned op, unsigned bytes,
                                       uint64_t operand, uint64_t comparand, uint64_t *old) {
    int bad = hetmp_device_atomic(q, pe, dest, op, bytes, HETMP_D_SIGNALLED | HETMP_D_FETCH, operand, comparand);
    if (bad) return bad;
    q->awaited = q->staged; /* its ticket plus 1 */
    q->fetched = 0;
    bad = hetmp_quiet(q);
    q->awaited = 0;
    *old = q->fetched;
    return bad;
}
HETMP_DEVICE_FN int hetmp_atomic_fetch_add(hetmp_device_queue *q, int pe, uint64_t *dest, uint64_t value,
                                           uint64_t *old) {
    return hetmp_device_fetch(q, pe, dest, HETMP_D_ADD, 8, value, 0, old);
}
HETMP_DEVICE_FN int hetmp_atomic_compare_swap(hetmp_device_queue *q, int pe, uint64_t *dest, uint64_t condition,
                                              uint64_t value, uint64_t *old) {
    return hetmp_device_fetch(q, pe, dest, HETMP_D_COMPARE_SWAP, 8, value, condition, old);
}
HETMP_DEVICE_FN int hetmp_atomic_fetch(hetmp_device_queue *q, int pe, const uint64_t *source, uint64_t *value) {
    return hetmp_device_fetch(q, pe, source, HETMP_D_READ, 8, 0, 0, value);
}

/* Operations of this queue on `pe` that are posted later take effect after those posted before. Operations on other PEs
 * are not ordered. */
HETMP_DEVICE_FN int hetmp_fence_pe(hetmp_device_queue *q, int pe) {
    uint64_t to = hetmp_device_member(q, pe);
    if (to == ~(uint64_t)0) return hetmp_device_no_member(q);
    hetmp_device_post(q, HETMP_D_FENCE, to, 0, 0, 0, 0, 0, 0);
    return HETMP_DEVICE_OK;
}
/* hetmp_fence_pe for every PE of the team. */
HETMP_DEVICE_FN int hetmp_fence(hetmp_device_queue *q) {
    uint32_t pe;
    for (pe = 0; pe < q->pes; pe++) hetmp_fence_pe(q, (int)pe);
    return hetmp_device_closed(q);
}

/* Waits until all posted operations are done, and closes the queue. Called on the host. Returns the status of
 * hetmp_quiet, or HETMP_DEVICE_BAD_QUEUE if the queue is not open. */
static inline int hetmp_device_queue_close(hetmp_device_queue *q) {
    int status, dropped;
    if (q == NULL || q->host == NULL) return HETMP_DEVICE_BAD_QUEUE;
    status = hetmp_quiet(q);
    dropped = hetmp_device_queue_drop(q);
    return status ? status : dropped;
}

/* ---- Workgroup forms. */

HETMP_DEVICE_FN int hetmp_put_wg(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes) {
    int status = HETMP_DEVICE_OK;
    hetmp_word_publish();
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_put(q, pe, dest, source, bytes);
    HETMP_WG_BARRIER();
    return status;
}
HETMP_DEVICE_FN int hetmp_get_wg(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes) {
    int status = HETMP_DEVICE_OK;
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_get(q, pe, dest, source, bytes);
    HETMP_WG_BARRIER();
    return status;
}
HETMP_DEVICE_FN int hetmp_put_signal_wg(hetmp_device_queue *q, int pe, void *dest, const void *source, size_t bytes,
                                        uint64_t *signal, uint64_t value) {
    int status = HETMP_DEVICE_OK;
    hetmp_word_publish();
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_put_signal(q, pe, dest, source, bytes, signal, value);
    HETMP_WG_BARRIER();
    return status;
}
HETMP_DEVICE_FN int hetmp_atomic_add_wg(hetmp_device_queue *q, int pe, uint64_t *dest, uint64_t value) {
    int status = HETMP_DEVICE_OK;
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_atomic_add(q, pe, dest, value);
    HETMP_WG_BARRIER();
    return status;
}
HETMP_DEVICE_FN int hetmp_fence_wg(hetmp_device_queue *q) {
    int status = HETMP_DEVICE_OK;
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_fence(q);
    HETMP_WG_BARRIER();
    return status;
}
HETMP_DEVICE_FN int hetmp_ring_wg(hetmp_device_queue *q) {
    int status = HETMP_DEVICE_OK;
    hetmp_word_publish();
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_ring(q);
    HETMP_WG_BARRIER();
    return status;
}
/* hetmp_quiet for a workgroup. Afterwards every thread of the group sees the data that the operations fetched. */
HETMP_DEVICE_FN int hetmp_quiet_wg(hetmp_device_queue *q) {
    int status = HETMP_DEVICE_OK;
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_quiet(q);
    HETMP_WG_BARRIER();
    return status;
}

#ifdef __cplusplus
}
#endif

#include "device_wait.h"
#include "device_contexts.h"
#include "device_group.h"
#endif
