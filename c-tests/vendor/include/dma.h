/* Stand-in for SW26010's dma.h: transfers by descriptor, over those of slave.h. */
#ifndef DMA_H
#define DMA_H

#include <slave.h>

typedef enum { DMA_GET, DMA_PUT } dma_op;
typedef struct {
    dma_op op;
    dma_mode mode;
    int size, stride, bsize;
    volatile int *reply;
} dma_desc;

#define dma_set_op(d, o) ((void)((d)->op = (o)))
#define dma_set_mode(d, m) ((void)((d)->mode = (m)))
#define dma_set_size(d, n) ((void)((d)->size = (int)(n)))
#define dma_set_bsize(d, n) ((void)((d)->bsize = (int)(n)))
#define dma_set_stepsize(d, n) ((void)((d)->stride = (int)(n)))
#define dma_set_reply(d, r) ((void)((d)->reply = (r)))

/* Main memory comes first in both directions. */
static inline void dma(dma_desc d, long memory, long local) {
    if (d.op == DMA_GET)
        athread_get(d.mode, (void *)memory, (void *)local, d.size, (void *)d.reply, 0, d.stride, d.bsize);
    else
        athread_put(d.mode, (void *)local, (void *)memory, d.size, (void *)d.reply, d.stride, d.bsize);
}
static inline void dma_wait(volatile int *reply, int n) {
    while (__atomic_load_n(reply, __ATOMIC_ACQUIRE) < n) {}
}

#endif
