/* Stand-in for MT-3000's hthread_device.h: what runtime/mq/chip and published kernels use. */
#ifndef HTHREAD_DEVICE_H
#define HTHREAD_DEVICE_H

/* A kernel: what hthread_group_exec finds by name. `makedat` makes its entry. */
#define __global__
/* A variable in the memory of a cluster that its cores share; here one for all clusters. */
#define __gsm__

int get_thread_id(void);
int get_group_size(void);
void *vector_malloc(unsigned int bytes);
int vector_free(void *ptr);
int get_am_free_space(void);
void *scalar_malloc(unsigned int bytes);
int scalar_free(void *ptr);
int get_sm_free_space(void);
/* High-bandwidth memory, which the cluster's cores share. */
void *hbm_malloc(unsigned long bytes);
void hbm_free(void *ptr);
/* A channel, to be waited for. */
unsigned int dma_p2p(void *src, unsigned long src_row_num, unsigned int src_row_size, int src_row_step, void *dst,
                     unsigned long dst_row_num, unsigned int dst_row_size, int dst_row_step, _Bool row_syn,
                     unsigned int synmask);
void dma_wait(unsigned int ch);
/* A line of text for the host's standard output. */
int hthread_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Waits for all threads of the group. */
void group_barrier(unsigned int barrier);
/* Copies between array (scalar) memory and the memory of the cluster, waited for. */
int vector_load(const void *mem, void *am, unsigned long bytes);
int vector_store(const void *am, void *mem, unsigned long bytes);
int scalar_load(const void *mem, void *sm, unsigned long bytes);
int scalar_store(const void *sm, void *mem, unsigned long bytes);

#endif
