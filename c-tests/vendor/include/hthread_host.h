/* Stand-in for MT-3000's hthread_host.h: what runtime/mq/chip and published programs use. */
#ifndef HTHREAD_HOST_H
#define HTHREAD_HOST_H

#include <stdint.h>

enum { HT_SUCCESS = 0 };
enum { HT_MEM_RO = 1, HT_MEM_WO = 2, HT_MEM_RW = 3 };

int hthread_dev_open(int cluster_id);
int hthread_dev_close(int cluster_id);
int hthread_dat_load(int cluster_id, const char *file_path);
int hthread_dat_unload(int cluster_id);
int hthread_get_avail_threads(int cluster_id);
/* Two dialects of one name are in use: a group that hthread_group_exec starts, as often as wanted, and a group that is
 * created with its first kernel, which starts at once. */
int hthread_group_create(int cluster_id, int num);
int hthread_group_create_exec(int cluster_id, int num, const char *func_name, int scalar_args, int ptr_args,
                              uint64_t *arg_array);
#define HTHREAD_SEVENTH(a, b, c, d, e, f, name, ...) name
#define hthread_group_create(...)                                                                              \
    HTHREAD_SEVENTH(__VA_ARGS__, hthread_group_create_exec, neither, neither, neither, (hthread_group_create), \
                    neither)                                                                                   \
    (__VA_ARGS__)
int hthread_group_exec(int thread_id, const char *func_name, int scalar_args, int ptr_args, uint64_t *arg_array);
int hthread_group_wait(int thread_id);
int hthread_group_destroy(int thread_id);
/* A number for kernels to pass to group_barrier. */
int hthread_barrier_create(int cluster_id);
void hthread_barrier_destroy(int barrier_id);
void *hthread_malloc(int cluster_id, unsigned long bytes, int mode);
void hthread_free(void *ptr);

#endif
