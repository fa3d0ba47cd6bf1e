/* The kernel's side of goal_kernel.c: what Figure 4 of ESPGOAL measures, as eBPF programs where the paper has a kernel
 * module.
 *
 * answer   runs at the ingress of the loopback device when a frame comes. Its sender is told through a ring buffer:
 *          from here, or (`through_item`) from a work item of the kernel that is queued here, as ESPGOAL's interpreter
 *          is one.
 * maxima   is called through BPF_PROG_TEST_RUN: the larger one of each two floats of two vectors. eBPF has no floating
 *          point. Floats that are no NaN are in the order of integers, once the bits of negative ones are turned
 *          around. */
#include "goal_kernel.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define TURN 64 /* floats in one turn of a loop: a power of two */
#define TC_NEXT (-1)
#define TC_DROP 2

/* As the kernel declares them since Linux 6.10. */
struct bpf_wq {
    __u64 opaque[2];
} __attribute__((aligned(8)));

extern int bpf_wq_init(struct bpf_wq *item, void *map, unsigned int flags) __ksym;
extern int bpf_wq_start(struct bpf_wq *item, unsigned int flags) __ksym;
extern int bpf_wq_set_callback_impl(struct bpf_wq *item, int (*callback)(void *map, int *key, void *value),
                                    unsigned int flags, void *program) __ksym;

struct slot {
    struct bpf_wq item;
    __u64 ready;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct slot);
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 65536);
} answers SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct shared);
} shared_map SEC(".maps");

static int tell(void *map, int *key, void *value)
{
    __u32 zero = 0;
    struct shared *s = bpf_map_lookup_elem(&shared_map, &zero);
    __u64 now = bpf_ktime_get_ns();
    if (s)
        s->item_ns = now - s->queued_ns;
    bpf_ringbuf_output(&answers, &now, sizeof now, BPF_RB_FORCE_WAKEUP);
    return 0;
}

SEC("tc")
int answer(struct __sk_buff *skb)
{
    __u32 zero = 0;
    struct shared *s = bpf_map_lookup_elem(&shared_map, &zero);
    struct slot *slot = bpf_map_lookup_elem(&slots, &zero);
    __u64 now;
    if (!s || !slot || skb->protocol != __builtin_bswap16(TYPE_KERNEL))
        return TC_NEXT;
    now = bpf_ktime_get_ns();
    if (!s->through_item) {
        bpf_ringbuf_output(&answers, &now, sizeof now, BPF_RB_FORCE_WAKEUP);
        return TC_DROP;
    }
    if (!slot->ready) {
        if (bpf_wq_init(&slot->item, &slots, 0) || bpf_wq_set_callback_impl(&slot->item, tell, 0, 0))
            return TC_DROP;
        slot->ready = 1;
    }
    s->queued_ns = bpf_ktime_get_ns();
    bpf_wq_start(&slot->item, 0);
    return TC_DROP;
}

/* Integers in the order of the floats whose bits they are. */
static __attribute__((always_inline)) __s32 ordered(__s32 bits) { return bits ^ ((bits >> 31) & 0x7fffffff); }

static long turn(__u64 i, struct shared **of)
{
    struct shared *s = *of;
    __u32 at = (i * TURN) & (FLOATS - 1), k;
#pragma clang loop unroll(full)
    for (k = 0; k < TURN; k++) {
        __s32 a = s->a[at + k], b = s->b[at + k];
        s->most[at + k] = ordered(a) > ordered(b) ? a : b;
    }
    return 0;
}

/* What is left of a vector behind the last whole turn. */
struct rest {
    struct shared *s;
    __u32 from;
};

static long single(__u64 i, struct rest *of)
{
    struct shared *s = of->s;
    __u32 at = of->from + i;
    __asm__ volatile("" : "+r"(at)); /* so that the compiler keeps the mask, which the verifier needs to see */
    at &= FLOATS - 1;
    __s32 a = s->a[at], b = s->b[at];
    s->most[at] = ordered(a) > ordered(b) ? a : b;
    return 0;
}

SEC("tc")
int maxima(struct __sk_buff *skb)
{
    __u32 zero = 0, floats;
    struct shared *s = bpf_map_lookup_elem(&shared_map, &zero);
    struct rest rest;
    __u64 from;
    if (!s)
        return 1;
    floats = s->floats > FLOATS ? FLOATS : s->floats;
    rest.s = s;
    rest.from = floats / TURN * TURN;
    from = bpf_ktime_get_ns();
    if (rest.from)
        bpf_loop(floats / TURN, turn, &s, 0);
    if (floats > rest.from)
        bpf_loop(floats - rest.from, single, &rest, 0);
    s->took_ns = bpf_ktime_get_ns() - from;
    return 0;
}

char granted[] SEC("license") = "GPL";
