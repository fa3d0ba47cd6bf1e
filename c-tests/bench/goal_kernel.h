/* What goal_kernel.c and goal_kernel.bpf.c both know. */
#ifndef GOAL_KERNEL_H
#define GOAL_KERNEL_H

#include <linux/types.h>

#define FLOATS 65536        /* of a vector, at most: a power of two */
#define TYPE_KERNEL 0x88b5  /* EtherTypes; IEEE 802 leaves these two to experiments */
#define TYPE_USER 0x88b6

/* Memory that program and kernel share. Floats are here as their bits. */
struct shared {
    __u64 through_item; /* answers go through a work item */
    __u64 queued_ns;    /* when the last item was queued */
    __u64 item_ns;      /* from then until it ran */
    __u64 took_ns;      /* of the last maxima */
    __u64 floats;
    __s32 a[FLOATS], b[FLOATS], most[FLOATS];
};

#endif
