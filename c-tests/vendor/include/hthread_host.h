/* Stand-in for MT-3000's hthread_host.h: what runtime/mq/chip uses. */
#ifndef HTHREAD_HOST_H
#define HTHREAD_HOST_H

#include <stdint.h>

enum { HT_MEM_RO = 1, HT_MEM_WO = 2, HT_MEM_RW = 3 };

int hthread_dev_open(int cluster_id);
int hthread_dev_close(int cluster_id);
int hthread_dat_load(int cluster_id, const char *file_path);
int hthread_group_create(int cluster_id, int num);
int hthread_group_exec(int thread_id, const char *func_name, int scalar_args, int ptr_args, uint64_t *arg_array);
int hthread_group_wait(int thread_id);
int hthread_group_destroy(int thread_id);
void *hthread_malloc(int cluster_id, unsigned long bytes, int mode);
void hthread_free(void *ptr);

#endif
