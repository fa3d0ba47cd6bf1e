/* The modes of modes.h on threads. A kernel is a parallel region and a workgroup is an OpenMP thread. Starting a region
 * costs a microsecond, where starting a GPU kernel costs twenty: --launch adds a time to every region (in the main
 * thread), to see what that does. */
#ifndef GIO_H
#define GIO_H

#include "modes.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>

#define GIO_REQUESTS 256 /* a power of two */
#define GIO_LINE 64
#if defined(__x86_64__)
#define GIO_PAUSE() __builtin_ia32_pause()
#else
#define GIO_PAUSE() ((void)0)
#endif

/* A request to the CPU thread of ikn. */
struct gio_request {
    uint64_t turn; /* who may use the slot: its position when empty, position + 1 when full */
    int workgroup, pe;
    void *dest;
    const void *source; /* NULL: `value` itself, 8 bytes */
    uint64_t value;
    size_t bytes;
    uint64_t *signal; /* or NULL */
    uint64_t signal_value;
};

/* What one workgroup counts; on a line of its own. */
struct gio_count {
    _Alignas(GIO_LINE) uint64_t submitted; /* by the workgroup */
    _Alignas(GIO_LINE) uint64_t completed; /* by the CPU thread */
    uint64_t taken;                        /* by the CPU thread alone */
};

struct gio {
    enum gio_mode mode;
    int workgroups;
    double launch;  /* seconds */
    double request; /* of ikn: seconds until the CPU thread has a request */
    hetmp_device_queue *queues;
    /* ikn */
    struct gio_request *requests;
    struct gio_count *counts;
    pthread_t helper;
    _Alignas(GIO_LINE) uint64_t head; /* next free position */
    _Alignas(GIO_LINE) int stop;
};

/* Where an initiator's time goes, seconds. */
struct gio_parts {
    _Alignas(GIO_LINE) double launch; /* starts of kernels, as far as --launch adds them */
    double compute, post, wait;       /* wait: for peers' data */
    double meet;                      /* barriers of the kernel, and the residual of all PEs */
};

/* The time since the last call with the same `last` is added to `part`. */
static inline void gio_part(double *last, double *part) {
    double now = gio_now();
    *part += now - *last;
    *last = now;
}

/* A turn of a wait: the one that is waited for may need this core. */
static inline void gio_turn(unsigned *turns) {
    if (++*turns % 64 == 0) sched_yield();
    else GIO_PAUSE();
}

/* Lets time pass on a device: other threads may use this core meanwhile. */
static inline void gio_pass(double until) {
    while (gio_now() < until) sched_yield();
}

/* Before a parallel region. */
static inline void gio_launch(const struct gio *g) {
    if (g->launch > 0) gio_pass(gio_now() + g->launch);
}

/* The CPU thread of ikn. What it has posted is complete for its workgroups when its own queue is quiet. */
static void *gio_help(void *argument) {
    struct gio *g = argument;
    hetmp_device_queue *q = &g->queues[0];
    uint64_t position = 0;
    unsigned turns = 0;
    int owing = 0;
    for (;;) {
        int batch = 0;
        while (batch < 32) {
            struct gio_request *r = &g->requests[position & (GIO_REQUESTS - 1)];
            if (__atomic_load_n(&r->turn, __ATOMIC_ACQUIRE) != position + 1) break;
            if (g->request > 0) gio_pass(gio_now() + g->request);
            int bad;
            if (r->signal && r->source)
                bad = hetmp_put_signal(q, r->pe, r->dest, r->source, r->bytes, r->signal, r->signal_value);
            else if (r->signal)
                bad = hetmp_p64_signal(q, r->pe, r->dest, r->value, r->signal, r->signal_value);
            else
                bad = hetmp_put_built(q, r->pe, r->dest, r->source, r->bytes);
            gio_check("request", r->pe, bad);
            g->counts[r->workgroup].taken++;
            __atomic_store_n(&r->turn, position + GIO_REQUESTS, __ATOMIC_RELEASE);
            position++;
            batch++;
        }
        if (batch) {
            hetmp_ring(q);
            owing = 1;
            turns = 0;
        }
        if (owing && hetmp_is_quiet(q)) {
            gio_check("request", gio_me, hetmp_quiet(q));
            for (int w = 0; w < g->workgroups; w++)
                __atomic_store_n(&g->counts[w].completed, g->counts[w].taken, __ATOMIC_RELEASE);
            owing = 0;
        } else if (!batch) {
            if (!owing && __atomic_load_n(&g->stop, __ATOMIC_ACQUIRE)) return NULL;
            gio_turn(&turns);
        }
    }
}

/* Opens what the mode needs for that many workgroups. */
static inline void gio_open(struct gio *g, enum gio_mode mode, int workgroups, size_t depth) {
    double launch = g->launch, request = g->request;
    memset(g, 0, sizeof *g);
    g->mode = mode;
    g->workgroups = workgroups;
    g->launch = launch;
    g->request = request;
    if (mode != GIO && mode != IKN) return;
    int queues = mode == GIO ? workgroups : 1;
    g->queues = calloc((size_t)queues, sizeof *g->queues);
    if (!g->queues) gio_die("workgroups %d: no memory", workgroups);
    for (int i = 0; i < queues; i++)
        gio_check("hetmp_device_queue_open", gio_me,
                  hetmp_device_queue_open(SHMEM_TEAM_WORLD, depth, &g->queues[i]));
    if (mode == GIO) return;
    g->requests = calloc(GIO_REQUESTS, sizeof *g->requests);
    g->counts = aligned_alloc(GIO_LINE, sizeof *g->counts * (size_t)workgroups);
    if (!g->requests || !g->counts) gio_die("workgroups %d: no memory", workgroups);
    memset(g->counts, 0, sizeof *g->counts * (size_t)workgroups);
    for (uint64_t i = 0; i < GIO_REQUESTS; i++) g->requests[i].turn = i;
    if (pthread_create(&g->helper, NULL, gio_help, g) != 0) gio_die("helper thread: cannot be started");
}

static inline void gio_close(struct gio *g) {
    if (g->mode == IKN) {
        __atomic_store_n(&g->stop, 1, __ATOMIC_RELEASE);
        pthread_join(g->helper, NULL);
        free(g->requests);
        free(g->counts);
    }
    if (g->queues) {
        int queues = g->mode == GIO ? g->workgroups : 1;
        for (int i = 0; i < queues; i++)
            gio_check("hetmp_device_queue_close", gio_me, hetmp_device_queue_close(&g->queues[i]));
        free(g->queues);
        g->queues = NULL;
    }
}

/* Hands a request to the CPU thread; waits while the queue is full. */
static inline void gio_submit(struct gio *g, struct gio_request request) {
    uint64_t position = __atomic_fetch_add(&g->head, 1, __ATOMIC_RELAXED);
    struct gio_request *r = &g->requests[position & (GIO_REQUESTS - 1)];
    unsigned turns = 0;
    while (__atomic_load_n(&r->turn, __ATOMIC_ACQUIRE) != position) gio_turn(&turns);
    request.turn = position;
    *r = request;
    g->counts[request.workgroup].submitted++;
    __atomic_store_n(&r->turn, position + 1, __ATOMIC_RELEASE);
}

/* Inside of a kernel, by workgroup `w`. Sources must keep their content until gio_quiet, or until the target has
   answered. */
static inline void gio_put(struct gio *g, int w, int pe, void *dest, const void *source, size_t bytes) {
    if (g->mode == IKN)
        gio_submit(g, (struct gio_request){.workgroup = w, .pe = pe, .dest = dest, .source = source, .bytes = bytes});
    else
        gio_check("hetmp_put", pe, hetmp_put(&g->queues[w], pe, dest, source, bytes));
}

static inline void gio_put_signal(struct gio *g, int w, int pe, void *dest, const void *source, size_t bytes,
                                  uint64_t *signal, uint64_t value) {
    if (g->mode == IKN)
        gio_submit(g, (struct gio_request){.workgroup = w,
                                           .pe = pe,
                                           .dest = dest,
                                           .source = source,
                                           .bytes = bytes,
                                           .signal = signal,
                                           .signal_value = value});
    else
        gio_check("hetmp_put_signal", pe, hetmp_put_signal(&g->queues[w], pe, dest, source, bytes, signal, value));
}

static inline void gio_p64_signal(struct gio *g, int w, int pe, void *dest, uint64_t value, uint64_t *signal,
                                  uint64_t signal_value) {
    if (g->mode == IKN)
        gio_submit(g, (struct gio_request){.workgroup = w,
                                           .pe = pe,
                                           .dest = dest,
                                           .value = value,
                                           .signal = signal,
                                           .signal_value = signal_value});
    else
        gio_check("hetmp_p64_signal", pe, hetmp_p64_signal(&g->queues[w], pe, dest, value, signal, signal_value));
}

static inline void gio_ring(struct gio *g, int w) {
    if (g->mode == GIO) hetmp_ring(&g->queues[w]);
}

/* Waits until what workgroup `w` has put has arrived. */
static inline void gio_quiet(struct gio *g, int w) {
    if (g->mode == IKN) {
        unsigned turns = 0;
        while (__atomic_load_n(&g->counts[w].completed, __ATOMIC_ACQUIRE) < g->counts[w].submitted) gio_turn(&turns);
    } else gio_check("hetmp_quiet", gio_me, hetmp_quiet(&g->queues[w]));
}

/* What all programs end a mode with: the verdict of all PEs, and the time. */
static inline int gio_result(const struct gio *g, const char *name, int right, double seconds) {
    right = gio_agree(right);
    if (gio_me == 0) {
        printf("%s\n", right ? "right" : "wrong");
        fprintf(stderr, "time %s %s pes %d threads %d seconds %.6f\n", name, gio_modes[g->mode], gio_pes, g->workgroups,
                seconds);
    }
    return right;
}

/* The mode of a turn; false after the last one. Turn 0 is the first mode once more, to warm up: it finds cold caches,
 * and threads that have not started. */
static inline int gio_nth(int mode, int turn, enum gio_mode *m) {
    int first = mode == GIO_MODES ? GIO : mode, last = mode == GIO_MODES ? OVERLAP : mode;
    *m = (enum gio_mode)(first + (turn > 0 ? turn - 1 : 0));
    return (int)*m <= last;
}

#endif
