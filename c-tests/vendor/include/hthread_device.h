/* Stand-in for MT-3000's hthread_device.h: what runtime/mq/chip uses. */
#ifndef HTHREAD_DEVICE_H
#define HTHREAD_DEVICE_H

#define __global__

int get_thread_id(void);
int get_group_size(void);
void *vector_malloc(unsigned int bytes);
int vector_free(void *ptr);
int get_am_free_space(void);
void *scalar_malloc(unsigned int bytes);
int scalar_free(void *ptr);
int get_sm_free_space(void);
/* A channel, to be waited for. */
unsigned int dma_p2p(void *src, unsigned long src_row_num, unsigned int src_row_size, int src_row_step, void *dst,
                     unsigned long dst_row_num, unsigned int dst_row_size, int dst_row_step, _Bool row_syn,
                     unsigned int synmask);
void dma_wait(unsigned int ch);

#endif
