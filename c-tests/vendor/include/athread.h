/* Stand-in for SW26010's athread.h, the master's side: what runtime/mq/chip uses. */
#ifndef ATHREAD_H
#define ATHREAD_H

#define SLAVE_FUN(name) slave_##name
#define athread_spawn(name, arg) __real_athread_spawn((void *)slave_##name, (void *)(arg))

int athread_init(void);
int athread_set_num_threads(int n);
int athread_get_max_threads(void);
int __real_athread_spawn(void *function, void *arg);
int athread_join(void);
int athread_halt(void);

#endif
