/* Stand-in for SW26010's slave.h: what runtime/mq/chip and published kernels use. */
#ifndef SLAVE_H
#define SLAVE_H

/* In the local store, where published kernels load vectors from arrays as they are declared. */
#define __thread_local __thread __attribute__((aligned(32)))
#define __thread_local_fix __thread_local

typedef enum { PE_MODE, BCAST_MODE, ROW_MODE, BROW_MODE, RANK_MODE } dma_mode;

/* -1: the calling slave. */
int athread_get_id(int core);
#define _MYID athread_get_id(-1)
/* Meets the slaves of a row, of a column (8 each) or all 64; here with the mask that names all of them. */
typedef enum { ROW_SCOPE, COL_SCOPE, ARRAY_SCOPE } scope;
int athread_syn(scope s, int mask);
/* Adds 1 to *reply when the transfer is over. In main memory, blocks of bsize bytes with stride bytes between them. */
int athread_get(dma_mode mode, void *src, void *dst, int len, void *reply, char mask, int stride, int bsize);
int athread_put(dma_mode mode, void *src, void *dst, int len, void *reply, int stride, int bsize);
/* The slave's 64 KB. */
void *ldm_malloc(int bytes);
void ldm_free(void *p, int bytes);

#endif
