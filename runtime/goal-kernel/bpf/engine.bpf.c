/* The GOAL engine `kernel`: this program runs the schedules of one rank where its packets arrive, at the ingress hook
 * of the traffic control layer (tc). The arrival of a message begins the operations that waited for it, and the
 * messages that they send leave from here, without the process of the rank. After Schneider, Eckelmann, Hoefler, Rehm,
 * "Kernel-Based Offload of Collective Operations" (Euro-Par 2011), section 3, with eBPF where they have a kernel
 * module.
 *
 * tc and not XDP: an XDP program sends at most one packet for one that arrives; a schedule fans out, which
 * bpf_clone_redirect does.
 *
 * Two programs share the maps of a rank:
 *   arrive  is attached to the interface; the kernel calls it for each packet.
 *   kick    is called by the rank's process through BPF_PROG_TEST_RUN: it begins a run, because a program that nothing
 *           arrives at has no packet to send. The helper calls it to ask again for what was lost.
 *
 * Who writes what. The rank's process maps the state and the runs, and may write there what it likes: it spoils its own
 * runs. What says who the rank is and where its packets go is the helper's, who writes it once and then freezes it;
 * what keeps two processors apart is the program's alone.
 *
 * One at a time. Packets of a rank may arrive on several processors at once. `lock_map` holds a lock that is only
 * tried, because a bpf_spin_lock forbids calls of helpers while it is held, and sending is one. A packet that finds the
 * lock taken goes to the back of its processor's queue and comes again, GOAL_TURNS times at most. The holder runs with
 * soft interrupts off and in loops with bounds, so that it always gets to the end.
 *
 * Loss. A message is known by run, source and tag, which a schedule uses once. So a duplicate finds its receive
 * complete and is counted. Nothing is acknowledged: the rank that misses a message asks for it (ASK), and the sender
 * has kept a copy until every peer of the run has said that it is done with the run (`done` in each packet). It is
 * therefore always right to drop a packet that has no place here.
 *
 * Messages longer than a packet. The sender offers the message (OFFER), and the receiver asks for its parts (PULL), at
 * most GOAL_WINDOW at once and more as they come: so the receiver decides how much is under way to it, and a part has a
 * place in the receiver's memory before it leaves. A receive that begins asks at once; a sender that is not that far
 * remembers what was asked for. So an offer may be lost, or come too early, and nothing is kept for it.
 *
 * What comes from the network is data: no length, rank, run or tag of a packet is used before it was compared with what
 * this rank expects. The memory that the process maps is not trusted either: each index is cut to its array.
 *
 * Series. The runs of all ranks are one series, those of a group another, with a state and slots of their own: only
 * within a series do ranks begin runs in the same order. A run is named by a word, whose upper bits are its series'.
 *
 * The numbers below are those of `runtime/goal/src/kernel/shared.rs`; a test compares them. All words are in the byte
 * order of the machine, which the build restricts to little-endian ones. */
#if __clang_major__ < 16
#error "clang 16 or later is needed: the relocations of callbacks that clang 14 writes are not understood"
#endif
#include "float.h"
#include <linux/bpf.h>
#include <linux/types.h>

#define GOAL_ETHERTYPE 0x88b5 /* IEEE 802, "local experimental 1" */
#define GOAL_MAGIC 0x4b4c4f47 /* "GOLK" */
#define GOAL_VERSION 5
#define GOAL_RANKS 64     /* most ranks */
#define GOAL_RUNS 16      /* runs of all ranks that are kept at once: a window */
#define GOAL_GROUPS 4     /* series of groups, from 1; series 0 is that of all ranks */
#define GOAL_GROUP_RUNS 4 /* runs of a group that are kept at once */
#define GOAL_SLOTS 32     /* of all series */
#define GOAL_SERIES 56    /* bits of a run's word below its series */
#define GOAL_OPS 256      /* operations of a schedule */
#define GOAL_DEPENDENTS 8 /* of an operation */
#define GOAL_MESSAGE 1344 /* bytes of a message in one packet that nobody has asked for */
#define GOAL_PART 13312   /* bytes of a part of a longer one, at most: a program may not make packets of 16 KiB */
#define GOAL_LONG 65536   /* bytes of a message, a vector or a copy */
#define GOAL_FLOATS 256   /* floating point numbers of a vector */
#define GOAL_WINDOW 16    /* parts of a message that are under way */
#define GOAL_ARENA 1048576 /* bytes of a run's memory */
#define GOAL_EARLY 64     /* messages of a run that came before their receives */
#define GOAL_TURNS 1024   /* times that a packet waits for the lock: some 4 ms; then the helper asks for it again */

#define HEAD_BYTES 64 /* of a packet; with 60 or more nobody has to fill a frame up */

/* Types of packets. */
#define MSG 1    /* a message */
#define ASK 2    /* "I miss the message of this run and tag" */
#define PROBE 3  /* "how far are you?" */
#define STATUS 4 /* the answer: `done` */
#define OFFER 5  /* "the message of this run and tag, longer than a packet, is ready" */
#define PULL 6   /* "send these parts of it" */
#define PART 7   /* one of them */
/* Types of kicks. */
#define START 16    /* begins a run */
#define MISSING 17  /* asks for every message that a run still misses */
#define PROBES 18   /* asks the peers of the mask `tag` (ranks 0 to 31) and `more` (32 to 63) how far they are */

/* What a kick returns. */
#define KICK_DONE 0
#define KICK_BUSY 1  /* another processor is at work: come again */
#define KICK_WRONG 2 /* no such run */

/* States of a run. */
#define FREE 0      /* never used, or the process is about to write a schedule */
#define EARLY 1     /* messages came; the run has not begun here */
#define RUNNING 2
#define DONE 3      /* for the process to take its results */
#define COLLECTED 4 /* taken */

/* Kinds of operations. */
#define SEND 1
#define RECV 2
#define LOCAL 3
#define COPY 4

/* States of an operation. */
#define BEGUN 1
#define COMPLETE 2

#define TC_NEXT (-1)
#define TC_DROP 2
#define BPF_INGRESS 1

struct head {
    __u8 to[6], from[6];
    __u16 ethertype;
    __u16 length; /* of the message */
    __u32 magic;
    __u8 version, type;
    __u8 source, target; /* ranks */
    __u64 job, run, done;
    __u32 tag, more; /* `more`: of PROBES, and 1 in a PULL that answers an OFFER */
    __u64 parts; /* of PULL: one bit each; of PART: its number */
};

_Static_assert(sizeof(struct head) == HEAD_BYTES, "the head of a packet");

struct op {
    __u8 kind, arithmetic;
    __u8 log;   /* log2 of an element's bytes */
    __u8 sign;  /* 1: elements have a sign; 2: they are floating point numbers */
    __u8 shift; /* 64 less the bits of an integer */
    __u8 state;
    __u8 missing; /* dependences that are not complete */
    __u8 dependents;
    __u8 dependent[GOAL_DEPENDENTS];
    __u32 tag;
    __u16 peer;
    __u16 next;    /* 1 + the next operation of this kind and peer; 0: none */
    __u32 target;  /* in the arena: what is written; of a send: what is sent */
    __u32 operand; /* in the arena: what is read; of a send: its copy */
    __u32 bytes;
    /* Of a message longer than a packet. `asked`: how many parts were asked for by the receiver. `parts`, one bit each:
     * at the receiver those that have come, at the sender those that were asked for. */
    __u32 asked;
    __u64 parts;
};

_Static_assert(sizeof(struct op) == 48, "an operation");
_Static_assert(GOAL_LONG <= 64 * GOAL_MESSAGE, "a bit for each part");

struct run {
    /* Written here. */
    __u64 run;
    __u32 state, early;
    /* Written by the process before the start. */
    __u64 sent; /* the ranks that get messages */
    __u32 ops, ready_count, left, zero;
    __u8 ready[GOAL_OPS];
    __u16 recvs[GOAL_RANKS], sends[GOAL_RANKS]; /* 1 + the first operation; 0: none */
    struct op op[GOAL_OPS];
    /* Offsets are cut to GOAL_ARENA, lengths to GOAL_LONG. */
    __u8 arena[GOAL_ARENA + GOAL_LONG];
};

#define offsetof(type, member) __builtin_offsetof(type, member)
_Static_assert(offsetof(struct run, sent) == 16, "what the process writes");
_Static_assert(offsetof(struct run, recvs) == 296, "the lists");
_Static_assert(offsetof(struct run, op) == 552, "the operations");
_Static_assert(offsetof(struct run, arena) == 12840, "the arena");
_Static_assert(sizeof(struct run) == 1126952, "a slot");

struct early {
    __u32 tag;
    __u16 source, length;
    __u8 message[GOAL_MESSAGE];
};

/* Of a run. */
struct earlies {
    struct early early[GOAL_EARLY];
};

_Static_assert(GOAL_RUNS + GOAL_GROUPS * GOAL_GROUP_RUNS == GOAL_SLOTS, "a slot for each run");

/* The rank, in its job. Written once, by the helper. */
struct job {
    __u64 number; /* 0: not yet in a job */
    __u32 rank, ranks, interface;
    __u32 part; /* bytes of a part, as all ranks of the job have agreed: what their interfaces take */
    __u8 address[GOAL_RANKS][6];
};

_Static_assert(offsetof(struct job, address) == 24, "the addresses");
_Static_assert(sizeof(struct job) == 408, "the job");

/* Of a series. */
struct state {
    __u64 started, done; /* runs up to `done` are complete, up to `started` have begun; the process writes the first */
    __u64 peer_done[GOAL_RANKS];
    /* By the numbers below. */
    __u64 count[16];
    /* By the run: the latest of which a message was dropped. Its start asks again. */
    __u64 dropped[GOAL_RUNS];
};

_Static_assert(offsetof(struct state, peer_done) == 16, "the peers");
_Static_assert(offsetof(struct state, count) == 528, "the counters");
_Static_assert(sizeof(struct state) == 784, "the state");

enum {
    COUNT_SENT,
    COUNT_RECEIVED,
    COUNT_EARLY,
    COUNT_DUPLICATE,
    COUNT_DROPPED, /* without a place: asked for later */
    COUNT_BAD,     /* malformed, forged, or expected by nobody */
    COUNT_FOREIGN, /* of another job */
    COUNT_ASKED,
    COUNT_RESENT,
    COUNT_BUSY,
    COUNT_UNSENT, /* the kernel did not take it */
    COUNT_KICKS,
};

struct {
    int (*type)[BPF_MAP_TYPE_ARRAY];
    int (*max_entries)[1];
    __u32 *key;
    struct job *value;
    int (*map_flags)[BPF_F_RDONLY_PROG];
} job_map __attribute__((section(".maps"), used));

struct {
    int (*type)[BPF_MAP_TYPE_ARRAY];
    int (*max_entries)[1];
    __u32 *key;
    __u32 *value; /* 1: somebody is at work */
} lock_map __attribute__((section(".maps"), used));

struct {
    int (*type)[BPF_MAP_TYPE_ARRAY];
    int (*max_entries)[GOAL_GROUPS + 1];
    __u32 *key;
    struct state *value;
    int (*map_flags)[BPF_F_MMAPABLE];
} state_map __attribute__((section(".maps"), used));

struct {
    int (*type)[BPF_MAP_TYPE_ARRAY];
    int (*max_entries)[GOAL_SLOTS];
    __u32 *key;
    struct run *value;
    int (*map_flags)[BPF_F_MMAPABLE];
} run_map __attribute__((section(".maps"), used));

struct {
    int (*type)[BPF_MAP_TYPE_ARRAY];
    int (*max_entries)[GOAL_SLOTS];
    __u32 *key;
    struct earlies *value;
} early_map __attribute__((section(".maps"), used));

static void *(*const map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const store_bytes)(struct __sk_buff *, __u32 at, const void *, __u32 bytes, __u64 flags) =
    (void *)BPF_FUNC_skb_store_bytes;
static long (*const load_bytes)(const struct __sk_buff *, __u32 at, void *, __u32 bytes) =
    (void *)BPF_FUNC_skb_load_bytes;
static long (*const clone_redirect)(struct __sk_buff *, __u32 interface, __u64 flags) = (void *)BPF_FUNC_clone_redirect;
static long (*const redirect)(__u32 interface, __u64 flags) = (void *)BPF_FUNC_redirect;
static long (*const change_tail)(struct __sk_buff *, __u32 bytes, __u64 flags) = (void *)BPF_FUNC_skb_change_tail;
static long (*const copy_bytes)(void *to, __u32 bytes, const void *from) = (void *)BPF_FUNC_probe_read_kernel;
static long (*const loop)(__u32 turns, void *turn, void *context, __u64 flags) = (void *)BPF_FUNC_loop;

/* What is handed through the loops. */
struct work {
    struct __sk_buff *skb;
    const struct job *job;
    struct state *state;
    struct run *run;
    struct earlies *earlies;
    /* Of the operation at hand: its memory. */
    __u8 *to;
    const __u8 *from;
    struct op *op;
    /* Of a message at hand that is longer than a packet: the parts to send. */
    __u64 parts;
    /* Of searches: the peer, the tag, and what was found. */
    __u32 peer, tag, found;
};

/* Hides from the compiler what a value was compared with, so that it keeps the mask that the verifier needs to see. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

/* By the holder of the lock. */
static __attribute__((always_inline)) void count(struct state *s, int which) { s->count[which & 15]++; }
/* By anybody. */
static __attribute__((always_inline)) void count_shared(struct state *s, int which)
{
    __sync_fetch_and_add(&s->count[which & 15], 1);
}

static __attribute__((always_inline)) __u32 cut_to(__u32 bytes, __u32 most) { return bytes > most ? most : bytes; }
static __attribute__((always_inline)) __u32 cut(__u32 bytes) { return cut_to(bytes, GOAL_MESSAGE); }

/* The bytes of a part. */
static __attribute__((always_inline)) __u32 part_bytes(const struct job *j)
{
    __u32 bytes = j->part;
    return bytes < GOAL_MESSAGE ? GOAL_MESSAGE : cut_to(bytes, GOAL_PART);
}

/* Sends a packet to a rank. The packet at hand is overwritten: what it carried was taken before. */
static __attribute__((noinline)) long emit(struct work *w, struct head *h, const __u8 *message)
{
    struct __sk_buff *skb = w->skb;
    const struct job *j = w->job;
    struct state *s = w->state;
    __u32 bytes = cut_to(h->length, GOAL_PART), to = h->target & (GOAL_RANKS - 1);
    __builtin_memcpy(h->to, j->address[to], 6);
    __builtin_memcpy(h->from, j->address[j->rank & (GOAL_RANKS - 1)], 6);
    h->ethertype = __builtin_bswap16(GOAL_ETHERTYPE);
    h->magic = GOAL_MAGIC;
    h->version = GOAL_VERSION;
    h->source = j->rank;
    h->job = j->number;
    h->done = s->done;
    skb->mark = 0; /* the turns of what came do not count for what goes */
    if (skb->len != HEAD_BYTES + bytes && change_tail(skb, HEAD_BYTES + bytes, 0))
        goto unsent;
    if (store_bytes(skb, 0, h, HEAD_BYTES, 0))
        goto unsent;
    if (bytes && message && store_bytes(skb, HEAD_BYTES, message, bytes, 0))
        goto unsent;
    if (clone_redirect(skb, j->interface, 0))
        goto unsent;
    count(s, COUNT_SENT);
    return 0;
unsent:
    count(s, COUNT_UNSENT);
    return -1;
}

static __attribute__((always_inline)) __u8 *arena(struct run *r, __u32 at) { return &r->arena[at & (GOAL_ARENA - 1)]; }

/* Copies up to GOAL_LONG bytes from `from` to `to`. */
static __attribute__((noinline)) void copy(struct work *w, __u32 bytes)
{
    if (bytes == 8) { /* the usual length, without a call */
        *(__u64 *)w->to = *(const __u64 *)w->from;
        return;
    }
    OPAQUE(bytes);
    if (bytes > GOAL_LONG)
        return;
    copy_bytes(w->to, bytes, w->from);
}

static __attribute__((always_inline)) __u64 element(const __u8 *at, __u32 log)
{
    switch (log) {
    case 0: return *at;
    case 1: return *(const __u16 *)at;
    case 2: return *(const __u32 *)at;
    default: return *(const __u64 *)at;
    }
}

/* An integer of 64 - `shift` bits, from its container. */
static __attribute__((always_inline)) __u64 extend(__u64 x, __u32 shift, __u32 sign)
{
    x <<= shift & 63;
    return sign ? (__u64)((__s64)x >> (shift & 63)) : x >> (shift & 63);
}

/* target = target OP operand, of eight elements of 64 bits. */
static long combine_words(__u64 i, struct work *w)
{
    const struct op *op = w->op;
    __u64 *a = (__u64 *)arena(w->run, op->target + i * 64);
    const __u64 *b = (const __u64 *)arena(w->run, op->operand + i * 64);
    int k;
#define WORDS(expression)                                                                                              \
    do {                                                                                                               \
        _Pragma("unroll") for (k = 0; k < 8; k++) a[k] = expression;                                                   \
    } while (0)
    switch (op->arithmetic) {
    case 0: WORDS(a[k] + b[k]); break;
    case 1: WORDS(a[k] - b[k]); break;
    case 2: WORDS(a[k] * b[k]); break;
    case 6: WORDS(a[k] & b[k]); break;
    case 7: WORDS(a[k] | b[k]); break;
    case 8: WORDS(a[k] ^ b[k]); break;
    case 4:
        if (op->sign)
            WORDS((__s64)a[k] > (__s64)b[k] ? a[k] : b[k]);
        else
            WORDS(a[k] > b[k] ? a[k] : b[k]);
        break;
    case 5:
        if (op->sign)
            WORDS((__s64)a[k] > (__s64)b[k] ? b[k] : a[k]);
        else
            WORDS(a[k] > b[k] ? b[k] : a[k]);
        break;
    }
#undef WORDS
    return 0;
}

/* target = target OP operand, of one element, from number `found` on. The numbers are those of `Arithmetic`. */
static long combine(__u64 i, struct work *w)
{
    const struct op *op = w->op;
    __u32 log = op->log & 3, shift = op->shift, sign = op->sign, at = (w->found + i) << log;
    __u8 *to = arena(w->run, op->target + at);
    __u64 a = extend(element(to, log), shift, sign);
    __u64 b = extend(element(arena(w->run, op->operand + at), log), shift, sign);
    __u32 above = sign ? (__s64)a > (__s64)b : a > b;
    switch (op->arithmetic) {
    case 0: a += b; break;
    case 1: a -= b; break;
    case 2: a *= b; break;
    case 4: a = above ? a : b; break;
    case 5: a = above ? b : a; break;
    case 6: a &= b; break;
    case 7: a |= b; break;
    case 8: a ^= b; break;
    }
    a = extend(a, shift, sign);
    switch (log) {
    case 0: *to = a; break;
    case 1: *(__u16 *)to = a; break;
    case 2: *(__u32 *)to = a; break;
    default: *(__u64 *)to = a;
    }
    return 0;
}

/* The same of floating point numbers. */
static long combine_doubles(__u64 i, struct work *w)
{
    const struct op *op = w->op;
    __u64 *to = (__u64 *)arena(w->run, op->target + i * 8);
    *to = float_apply(op->arithmetic, *to, *(const __u64 *)arena(w->run, op->operand + i * 8), 52);
    return 0;
}

static long combine_floats(__u64 i, struct work *w)
{
    const struct op *op = w->op;
    __u32 *to = (__u32 *)arena(w->run, op->target + i * 4);
    *to = float_apply(op->arithmetic, *to, *(const __u32 *)arena(w->run, op->operand + i * 4), 23);
    return 0;
}

static __attribute__((always_inline)) void complete(struct run *r, struct op *op)
{
    int i;
    op->state = COMPLETE;
    r->left--;
    for (i = 0; i < GOAL_DEPENDENTS; i++) {
        struct op *later;
        if (i >= op->dependents)
            break;
        later = &r->op[op->dependent[i]];
        if (later->missing && --later->missing == 0) {
            r->ready[r->ready_count & (GOAL_OPS - 1)] = op->dependent[i];
            r->ready_count++;
        }
    }
}

/* Looks for the early message of `peer` and `tag`: `found` is 1 + its place. */
static long is_early(__u64 i, struct work *w)
{
    const struct early *e = &w->earlies->early[i & (GOAL_EARLY - 1)];
    if (i >= w->run->early)
        return 1;
    if (e->source != w->peer || e->tag != w->tag)
        return 0;
    w->found = i + 1;
    return 1;
}

static __attribute__((noinline)) __u32 early_place(struct work *w, __u32 peer, __u32 tag)
{
    w->peer = peer;
    w->tag = tag;
    w->found = 0;
    if (w->run->early)
        loop(GOAL_EARLY, is_early, w, 0);
    return w->found;
}

/* Follows a list of operations to the one with `tag`. `found` is 1 + its place, or 0 at the end. */
static long has_tag(__u64 i, struct work *w)
{
    __u32 at = w->found;
    const struct op *op;
    if (at == 0)
        return 1;
    op = &w->run->op[(at - 1) & (GOAL_OPS - 1)];
    if (op->tag == w->tag)
        return 1;
    w->found = op->next;
    return 0;
}

static __attribute__((noinline)) struct op *op_of(struct work *w, __u32 first, __u32 tag)
{
    struct op *op;
    w->found = first;
    w->tag = tag;
    loop(GOAL_OPS, has_tag, w, 0);
    if (w->found == 0)
        return 0;
    op = &w->run->op[(w->found - 1) & (GOAL_OPS - 1)];
    return op->tag == tag ? op : 0;
}

static __attribute__((noinline)) void combine_all(struct work *w, struct op *op)
{
    __u32 bytes = op->bytes > GOAL_LONG ? GOAL_LONG : op->bytes;
    if (op->sign == 2) {
        if (op->log == 3)
            loop(cut_to(bytes / 8, GOAL_FLOATS), combine_doubles, w, 0);
        else
            loop(cut_to(bytes / 4, GOAL_FLOATS), combine_floats, w, 0);
        return;
    }
    w->found = 0;
    if ((op->log & 3) == 3 && op->shift == 0 && bytes >= 64) {
        loop(bytes / 64, combine_words, w, 0);
        w->found = bytes / 64 * 8;
        bytes &= 63;
    }
    if (bytes)
        loop(bytes >> (op->log & 3), combine, w, 0);
}

/* Whether a message is longer than a packet. */
static __attribute__((always_inline)) int is_long(const struct op *op) { return op->bytes > GOAL_MESSAGE; }

/* The number of its parts. */
static __attribute__((always_inline)) __u32 parts_of(const struct job *j, const struct op *op)
{
    __u32 part = part_bytes(j);
    return (cut_to(op->bytes, GOAL_LONG) + part - 1) / part;
}

/* The first `n` of 64 bits. */
static __attribute__((always_inline)) __u64 first(__u32 n) { return n >= 64 ? ~0ull : (1ull << (n & 63)) - 1; }

static __attribute__((always_inline)) __u32 ones(__u64 x)
{
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    return ((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56;
}

/* Asks for the parts `again` of a message that the receive `op` waits for, and for further ones as the window allows.
   */
static __attribute__((noinline)) void pull(struct work *w, struct op *op, __u64 again, __u32 answers)
{
    struct head h;
    __u32 asked = op->asked & 127, n = parts_of(w->job, op), open = ones(first(asked) & ~op->parts);
    __builtin_memset(&h, 0, sizeof h);
    if (open < GOAL_WINDOW)
        asked = asked + GOAL_WINDOW - open > n ? n : asked + GOAL_WINDOW - open;
    h.parts = again | (first(asked) & ~first(op->asked));
    op->asked = asked;
    if (h.parts == 0)
        return;
    h.type = PULL;
    h.more = answers;
    h.target = op->peer;
    h.run = w->run->run;
    h.tag = op->tag;
    emit(w, &h, 0);
}

static long send_part(__u64 i, struct work *w)
{
    struct op *op = w->op;
    struct head h;
    __u32 part = part_bytes(w->job), at = i * part;
    if (w->parts >> (i & 63) == 0 || at >= op->bytes)
        return 1;
    if (!(w->parts >> (i & 63) & 1))
        return 0;
    __builtin_memset(&h, 0, sizeof h);
    h.type = PART;
    h.length = cut_to(op->bytes - at, part);
    h.target = op->peer;
    h.run = w->run->run;
    h.tag = op->tag;
    h.parts = i;
    emit(w, &h, arena(w->run, op->operand + at));
    return 0;
}

static __attribute__((noinline)) void send_parts(struct work *w, struct op *op, __u64 parts)
{
    w->op = op;
    w->parts = parts;
    loop(64, send_part, w, 0);
}

static __attribute__((noinline)) long send(struct work *w, struct op *op, struct run *r)
{
    struct head h;
    __builtin_memset(&h, 0, sizeof h);
    if (is_long(op)) {
        h.type = OFFER;
        h.target = op->peer;
        h.run = r->run;
        h.tag = op->tag;
        return emit(w, &h, 0);
    }
    h.type = MSG;
    h.length = cut(op->bytes);
    h.target = op->peer;
    h.run = r->run;
    h.tag = op->tag;
    return emit(w, &h, arena(r, op->operand));
}

/* Begins one operation that is ready. Ends the loop when there is none. */
static long step(__u64 i, struct work *w)
{
    struct run *r = w->run;
    struct op *op;
    const struct early *e;
    __u32 n = r->ready_count, at;
    if (n == 0)
        return 1;
    n--;
    r->ready_count = n;
    op = &r->op[r->ready[n & (GOAL_OPS - 1)]];
    w->op = op;
    w->to = arena(r, op->target);
    w->from = arena(r, op->operand);
    switch (op->kind) {
    case SEND:
        /* The copy is what is sent now and whenever the peer asks: later operations may change the original. Where none
         * does, there is no copy. */
        w->to = arena(r, op->operand);
        w->from = arena(r, op->target);
        if (op->operand != op->target)
            copy(w, op->bytes);
        if (is_long(op) && op->parts)
            send_parts(w, op, op->parts);
        else
            send(w, op, r);
        break;
    case RECV:
        op->state = BEGUN;
        if (is_long(op)) {
            pull(w, op, 0, 0);
            return 0;
        }
        at = early_place(w, op->peer, op->tag);
        if (at == 0)
            return 0;
        e = &w->earlies->early[(at - 1) & (GOAL_EARLY - 1)];
        if (e->length != op->bytes)
            return 0;
        w->from = e->message;
        copy(w, op->bytes);
        break;
    case LOCAL:
        combine_all(w, op);
        break;
    case COPY:
        copy(w, op->bytes);
        break;
    }
    complete(r, op);
    return 0;
}

/* How many runs of a run's series are kept at once. */
static __attribute__((always_inline)) __u64 window(__u64 run)
{
    return run >> GOAL_SERIES ? GOAL_GROUP_RUNS : GOAL_RUNS;
}

/* Null for a series that there is not. */
static __attribute__((always_inline)) struct state *state_of(__u64 run)
{
    __u32 series = run >> GOAL_SERIES;
    return map_lookup(&state_map, &series);
}

static __attribute__((always_inline)) struct run *run_of(__u64 run, struct earlies **earlies)
{
    __u32 group = run >> GOAL_SERIES, slot = run & (GOAL_RUNS - 1);
    if (group)
        slot = GOAL_RUNS + (group - 1) * GOAL_GROUP_RUNS + (run & (GOAL_GROUP_RUNS - 1));
    *earlies = map_lookup(&early_map, &slot);
    return *earlies ? map_lookup(&run_map, &slot) : 0;
}

/* Counts the runs that are complete without a gap. */
static long advance(__u64 i, struct work *w)
{
    struct state *s = w->state;
    struct earlies *e;
    struct run *r = run_of(s->done + 1, &e);
    /* FREE: on another processor the process has taken the results since they were there, and writes the slot's next
       image. */
    if (!r || r->run != s->done + 1 || (r->state != DONE && r->state != COLLECTED && r->state != FREE))
        return 1;
    s->done++;
    return 0;
}

/* Begins what is ready, and ends the run when nothing is left. */
static __attribute__((noinline)) void go_on(struct work *w)
{
    /* Each operation becomes ready once. */
    loop(GOAL_OPS + 1, step, w, 0);
    if (w->run->left != 0 || w->run->state != RUNNING)
        return;
    /* A full barrier after the run's last write to its arena: the process reads the state first. */
    __sync_lock_test_and_set(&w->run->state, DONE);
    loop(GOAL_RUNS, advance, w, 0);
}

/* Looks for a peer that may still ask for messages of the run. */
static long is_owed(__u64 i, struct work *w)
{
    if (!(w->run->sent >> (i & 63) & 1) || w->state->peer_done[i & (GOAL_RANKS - 1)] >= w->run->run)
        return 0;
    w->found = 1;
    return 1;
}

/* True if nobody can ask for messages of the run that the slot holds. */
static __attribute__((noinline)) int is_released(struct work *w)
{
    struct run *r = w->run;
    /* Run 5 may be over here before run 4, and its peers may be done with both: `done` still has to find it. */
    if (r->run > w->state->done)
        return 0;
    /* The process has asked this before, and may have written the next run's image, with other peers, already. */
    if (r->state == FREE)
        return 1;
    if (r->state != COLLECTED)
        return 0;
    w->found = 0;
    loop(GOAL_RANKS, is_owed, w, 0);
    return w->found == 0;
}

/* The slot's run becomes `run`; messages may come. */
static __attribute__((always_inline)) void claim(struct run *r, __u64 run)
{
    r->early = 0;
    r->run = run;
    r->state = EARLY;
}

static __attribute__((noinline)) void deliver(struct work *w, const struct head *h)
{
    struct state *s = w->state;
    struct run *r = w->run;
    struct early *e;
    struct op *op;
    __u32 bytes = cut(h->length), early;
    if (r->run != h->run) {
        if (h->run < r->run)
            return count(s, COUNT_DUPLICATE);
        /* At most one window ahead of this rank, or a forged number would take the slot for ever. */
        if (h->run > s->started + window(h->run) || h->run <= s->started || !is_released(w)) {
            s->dropped[h->run & (GOAL_RUNS - 1)] = h->run;
            return count(s, COUNT_DROPPED);
        }
        claim(r, h->run);
    }
    if (r->state == RUNNING) {
        op = op_of(w, r->recvs[h->source & (GOAL_RANKS - 1)], h->tag);
        if (!op || op->kind != RECV || is_long(op) || op->bytes != h->length)
            return count_shared(s, COUNT_BAD);
        if (op->state == COMPLETE)
            return count(s, COUNT_DUPLICATE);
        if (op->state == BEGUN) {
            if (bytes && load_bytes(w->skb, HEAD_BYTES, arena(r, op->target), bytes))
                return count_shared(s, COUNT_BAD);
            count(s, COUNT_RECEIVED);
            return complete(r, op);
        }
    } else if (r->state != EARLY) {
        return count(s, COUNT_DUPLICATE);
    }
    /* Keep it. */
    if (early_place(w, h->source, h->tag))
        return count(s, COUNT_DUPLICATE);
    early = r->early;
    if (early >= GOAL_EARLY) {
        s->dropped[h->run & (GOAL_RUNS - 1)] = h->run;
        return count(s, COUNT_DROPPED);
    }
    OPAQUE(early);
    e = &w->earlies->early[early & (GOAL_EARLY - 1)];
    OPAQUE(bytes);
    bytes = cut(bytes);
    if (bytes && load_bytes(w->skb, HEAD_BYTES, e->message, bytes))
        return count_shared(s, COUNT_BAD);
    e->source = h->source;
    e->tag = h->tag;
    e->length = bytes;
    r->early = early + 1;
    count(s, COUNT_EARLY);
}

/* A peer misses a message. */
static __attribute__((noinline)) void resend(struct work *w, const struct head *h)
{
    struct state *s = w->state;
    struct run *r = w->run;
    struct op *op;
    if (h->run < r->run)
        return count(s, COUNT_DUPLICATE);
    if (r->run != h->run || (r->state != RUNNING && r->state != DONE && r->state != COLLECTED))
        return; /* not sent yet, so not lost */
    op = op_of(w, r->sends[h->source & (GOAL_RANKS - 1)], h->tag);
    if (!op || op->kind != SEND || is_long(op))
        return count_shared(s, COUNT_BAD);
    if (op->state != COMPLETE)
        return;
    count(s, COUNT_RESENT);
    send(w, op, r);
}

/* A peer wants parts of a message. */
static __attribute__((noinline)) void pulled(struct work *w, const struct head *h)
{
    struct state *s = w->state;
    struct run *r = w->run;
    struct op *op;
    __u64 parts = h->parts;
    if (h->run < r->run)
        return count(s, COUNT_DUPLICATE);
    if (r->run != h->run || (r->state != RUNNING && r->state != DONE && r->state != COLLECTED))
        return; /* the offer comes when the run has begun here */
    op = op_of(w, r->sends[h->source & (GOAL_RANKS - 1)], h->tag);
    if (!op || op->kind != SEND || !is_long(op) || parts == 0 || (parts & ~first(parts_of(w->job, op))))
        return count_shared(s, COUNT_BAD);
    if (op->state != COMPLETE) {
        op->parts |= parts;
        return;
    }
    /* An offer and a request may meet on their way. The answer to that offer then names parts that have left already.
       */
    if (h->more)
        parts &= ~op->parts;
    if (op->parts & parts)
        count(s, COUNT_RESENT);
    op->parts |= parts;
    send_parts(w, op, parts);
}

/* The receive of this run, source and tag that waits for a message longer than a packet; null if there is none, which
 * is counted. */
static __attribute__((noinline)) struct op *long_receive(struct work *w, const struct head *h)
{
    struct state *s = w->state;
    struct run *r = w->run;
    struct op *op;
    if (r->run != h->run || r->state != RUNNING) {
        /* Before the start, nothing is lost: a receive that begins asks by itself. */
        if (h->run <= s->started)
            count(s, COUNT_DUPLICATE);
        else
            count(s, h->run > s->started + window(h->run) ? COUNT_DROPPED : COUNT_EARLY);
        return 0;
    }
    op = op_of(w, r->recvs[h->source & (GOAL_RANKS - 1)], h->tag);
    if (!op || op->kind != RECV || !is_long(op)) {
        count_shared(s, COUNT_BAD);
        return 0;
    }
    if (op->state == BEGUN)
        return op;
    count(s, op->state == COMPLETE ? COUNT_DUPLICATE : COUNT_EARLY);
    return 0;
}

/* A part of a message has come. */
static __attribute__((noinline)) void take_part(struct work *w, const struct head *h)
{
    struct state *s = w->state;
    struct run *r = w->run;
    struct op *op = long_receive(w, h);
    __u32 part = h->parts & 63, most = part_bytes(w->job), at = part * most, bytes = cut_to(h->length, GOAL_PART),
        asked;
    __u64 open;
    if (!op)
        return;
    asked = op->asked & 127;
    if (h->parts >= asked || at >= op->bytes || bytes != cut_to(op->bytes - at, most))
        return count_shared(s, COUNT_BAD);
    if (op->parts >> part & 1)
        return count(s, COUNT_DUPLICATE);
    OPAQUE(bytes);
    bytes = cut_to(bytes, GOAL_PART);
    if (bytes && load_bytes(w->skb, HEAD_BYTES, arena(r, op->target + at), bytes))
        return count_shared(s, COUNT_BAD);
    count(s, COUNT_RECEIVED);
    op->parts |= 1ull << part;
    if (op->parts == first(parts_of(w->job, op)))
        return complete(r, op);
    open = first(asked) & ~op->parts;
    /* Parts leave in order: when the last one comes, what is open before it was lost, or is on its way again. */
    if (part + 1 == asked && open)
        count(s, COUNT_ASKED);
    if (part + 1 == asked || ones(open) <= GOAL_WINDOW / 2)
        pull(w, op, part + 1 == asked ? open : 0, 0);
}

/* A message is ready at its sender. */
static __attribute__((noinline)) void offered(struct work *w, const struct head *h)
{
    struct op *op = long_receive(w, h);
    /* What was asked before the sender had begun the run, it has not remembered. */
    if (op)
        pull(w, op, first(op->asked & 127) & ~op->parts, 1);
}

static __attribute__((noinline)) void tell(struct work *w, __u8 type, __u32 to)
{
    struct head h;
    __builtin_memset(&h, 0, sizeof h);
    h.type = type;
    h.target = to;
    h.run = w->state->started; /* any one of the series */
    emit(w, &h, 0);
}

static __attribute__((always_inline)) int try_lock(__u32 *busy) { return __sync_lock_test_and_set(busy, 1) == 0; }
static __attribute__((always_inline)) void unlock(__u32 *busy) { __sync_lock_test_and_set(busy, 0); }

__attribute__((section("classifier/arrive"), used)) int arrive(struct __sk_buff *skb)
{
    __u32 zero = 0, from, *busy;
    __u64 done;
    struct work w;
    struct head h;
    const struct job *j;
    struct state *s;
    if (skb->protocol != __builtin_bswap16(GOAL_ETHERTYPE))
        return TC_NEXT;
    j = map_lookup(&job_map, &zero);
    s = state_of(0); /* which counts what has no series */
    busy = map_lookup(&lock_map, &zero);
    if (!j || !s || !busy || j->number == 0)
        return TC_NEXT;
    if (load_bytes(skb, 0, &h, HEAD_BYTES) || h.magic != GOAL_MAGIC || h.version != GOAL_VERSION) {
        count_shared(s, COUNT_BAD);
        return TC_NEXT; /* perhaps somebody else's experiment */
    }
    if (h.job != j->number) {
        count_shared(s, COUNT_FOREIGN);
        return TC_NEXT;
    }
    if (h.target != j->rank)
        return TC_NEXT; /* another rank behind this interface */
    from = h.source;
    if (from >= GOAL_RANKS || from >= j->ranks || from == j->rank ||
        h.length > (h.type == PART ? part_bytes(j) : GOAL_MESSAGE) ||
        skb->len < HEAD_BYTES + h.length || h.type < MSG || h.type > PART || h.run >> GOAL_SERIES > GOAL_GROUPS ||
        __builtin_memcmp(h.from, j->address[from], 6)) {
        count_shared(s, COUNT_BAD);
        return TC_DROP;
    }
    s = state_of(h.run);
    if (!s)
        return TC_DROP;
    if (!try_lock(busy)) {
        count_shared(s, COUNT_BUSY);
        if (skb->mark >= GOAL_TURNS) {
            count_shared(s, COUNT_DROPPED);
            return TC_DROP;
        }
        skb->mark++;
        return redirect(skb->ifindex, BPF_INGRESS);
    }
    w.skb = skb;
    w.job = j;
    w.state = s;
    w.to = 0;
    w.from = 0;
    w.op = 0;
    w.run = run_of(h.run, &w.earlies);
    if (w.run && w.earlies) {
        /* A peer that needs nothing of this rank may be far ahead. More than a window is not needed here, nor believed:
         * the number may be forged. */
        done = s->started + window(h.run);
        done = h.done < done ? h.done : done;
        if (done > s->peer_done[from])
            s->peer_done[from] = done;
        if (h.type == MSG) {
            deliver(&w, &h);
            /* Before the start, the process may be writing the image: nothing of it is ready. */
            if (w.run->state == RUNNING)
                go_on(&w);
        } else if (h.type == PART) {
            take_part(&w, &h);
            if (w.run->state == RUNNING)
                go_on(&w);
        } else if (h.type == PULL) {
            pulled(&w, &h);
        } else if (h.type == OFFER) {
            offered(&w, &h);
        } else if (h.type == ASK) {
            resend(&w, &h);
        } else if (h.type == PROBE) {
            tell(&w, STATUS, from);
        }
    }
    unlock(busy);
    return TC_DROP;
}

/* Asks for the message of an operation that waits. */
static long ask(__u64 i, struct work *w)
{
    struct run *r = w->run;
    struct op *op = &r->op[i & (GOAL_OPS - 1)];
    struct head h;
    if (i >= r->ops)
        return 1;
    if (op->kind != RECV || op->state != BEGUN)
        return 0;
    if (is_long(op)) {
        count(w->state, COUNT_ASKED);
        pull(w, op, first(op->asked & 127) & ~op->parts, 0);
        return 0;
    }
    __builtin_memset(&h, 0, sizeof h);
    h.type = ASK;
    h.target = op->peer;
    h.run = r->run;
    h.tag = op->tag;
    count(w->state, COUNT_ASKED);
    emit(w, &h, 0);
    return 0;
}

static long probe(__u64 i, struct work *w)
{
    __u64 mask = *(const __u64 *)w->from;
    if (mask >> (i & 63) & 1)
        tell(w, PROBE, i);
    return 0;
}

__attribute__((section("classifier/kick"), used)) int kick(struct __sk_buff *skb)
{
    __u32 zero = 0, *busy = map_lookup(&lock_map, &zero);
    __u64 mask;
    struct work w;
    struct head h;
    const struct job *j = map_lookup(&job_map, &zero);
    struct state *s;
    struct run *r;
    int code = KICK_WRONG;
    if (!j || !busy || j->number == 0 || load_bytes(skb, 0, &h, HEAD_BYTES))
        return KICK_WRONG;
    s = state_of(h.run);
    if (!s)
        return KICK_WRONG;
    if (!try_lock(busy))
        return KICK_BUSY;
    count(s, COUNT_KICKS);
    w.skb = skb;
    w.job = j;
    w.state = s;
    w.to = 0;
    w.from = 0;
    w.op = 0;
    w.run = r = run_of(h.run, &w.earlies);
    if (!r || !w.earlies)
        goto out;
    if (h.type == START && h.run == s->started + 1 && (r->run == h.run ? r->state == EARLY : is_released(&w))) {
        if (r->run != h.run)
            claim(r, h.run);
        s->started = h.run;
        r->state = RUNNING;
        code = KICK_DONE;
        go_on(&w);
        if (s->dropped[h.run & (GOAL_RUNS - 1)] == h.run && r->state == RUNNING)
            loop(GOAL_OPS, ask, &w, 0);
    } else if (h.type == MISSING && r->run == h.run && r->state == RUNNING) {
        loop(GOAL_OPS, ask, &w, 0);
        code = KICK_DONE;
    } else if (h.type == PROBES) {
        mask = h.tag | (__u64)h.more << 32;
        w.from = (const __u8 *)&mask;
        loop(GOAL_RANKS, probe, &w, 0);
        code = KICK_DONE;
    }
out:
    unlock(busy);
    return code;
}

char licence[] __attribute__((section("license"), used)) = "Dual MIT/GPL";
