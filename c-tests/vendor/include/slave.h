/* Stand-in for SW26010's slave.h: what runtime/mq/chip uses. */
#ifndef SLAVE_H
#define SLAVE_H

#define __thread_local __thread
#define __thread_local_fix __thread

typedef enum { PE_MODE, BCAST_MODE, ROW_MODE, BROW_MODE, RANK_MODE } dma_mode;

/* -1: the calling slave. */
int athread_get_id(int core);
/* Adds 1 to *reply when the transfer is over. */
int athread_get(dma_mode mode, void *src, void *dst, int len, void *reply, char mask, int stride, int bsize);
int athread_put(dma_mode mode, void *src, void *dst, int len, void *reply, int stride, int bsize);
/* The slave's 64 KB. */
void *ldm_malloc(int bytes);
void ldm_free(void *p, int bytes);

#endif
