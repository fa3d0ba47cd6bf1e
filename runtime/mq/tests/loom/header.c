/* The inline functions of hetmp/mq.h for the model (header.rs): their atomic accesses are its own. */
#include <stddef.h>
#include <stdint.h>

static uint64_t (*load)(uintptr_t at, int order);
static void (*store)(uintptr_t at, uint64_t value, int order);
#define __atomic_load_n(at, order) ((__typeof__(*(at)))(uintptr_t)load((uintptr_t)(at), order))
#define __atomic_store_n(at, value, order) store((uintptr_t)(at), (uint64_t)(value), order)
#include <hetmp/mq.h>

_Static_assert(offsetof(struct hetmp_mq_ring, receiver) == 128, "as in header.rs");
_Static_assert(offsetof(struct hetmp_mq_ring, released) == 256, "as in header.rs");
_Static_assert(offsetof(struct hetmp_mq_ring, sent) == 384, "as in header.rs");
_Static_assert(offsetof(struct hetmp_mq_ring, waits) == 512, "as in header.rs");
_Static_assert(offsetof(struct hetmp_mq_ring, varied) == 520, "as in header.rs");
_Static_assert(offsetof(struct hetmp_mq_ring, missing) == 528, "as in header.rs");
_Static_assert(sizeof(struct hetmp_mq_ring) == 640, "as in header.rs");

/* Nobody sleeps. */
void hetmp_mq_wake(struct hetmp_mq_ring *r, int sender)
{
    (void)r;
    (void)sender;
    __builtin_trap();
}

void model_begin(uint64_t (*its_load)(uintptr_t, int), void (*its_store)(uintptr_t, uint64_t, int))
{
    load = its_load;
    store = its_store;
}

void *model_allocate(struct hetmp_mq_ring *r)
{
    return hetmp_mq_try_allocate(r);
}

int model_send(struct hetmp_mq_ring *r, void *message, int bytes)
{
    if (hetmp_mq_send_only(r, message, bytes, NULL)) return 1;
    if (!hetmp_mq_may_send(r, message, 1, bytes)) return 0;
    hetmp_mq_send(r, 1, bytes);
    return 1;
}

void *model_receive(struct hetmp_mq_ring *r, int *bytes)
{
    return hetmp_mq_try_receive(r, bytes);
}

int model_release(struct hetmp_mq_ring *r, void *message)
{
    if (hetmp_mq_release_only(r, message, NULL)) return 1;
    if (!hetmp_mq_may_release(r, message, 1)) return 0;
    hetmp_mq_release(r, 1);
    return 1;
}
