/* A thread whose number is as large as the upper half of the addresses in its control block (0x7f5c, for example) ends,
   and is joined: what the kernel writes when a thread ends goes to the word with the number, not to a half of an
   address. The next number is chosen by /proc/sys/kernel/ns_last_pid, which needs rights; without them standard error
   says so. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int met;

static void *body(void *unused)
{
    (void)unused;
    met = syscall(SYS_gettid) == (long)((uintptr_t)pthread_self() >> 32);
    return NULL;
}

int main(void)
{
    int ended = 0, tried = 0, threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    threads++;
    /* All stacks lie in one part of 64 GiB, so the upper halves of their addresses are a few neighbouring numbers. */
    uintptr_t upper = (uintptr_t)&ended >> 32;
    for (; tried < 2000 && !met; tried++) {
        FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
        int chosen = last && fprintf(last, "%lu", (unsigned long)(upper - 1)) > 0;
        if (last && fclose(last) != 0)
            chosen = 0;
        if (!chosen)
            break;
        pthread_t thread;
        struct timespec until;
        if (pthread_create(&thread, NULL, body, NULL) != 0)
            break;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 20;
        if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
            printf("a thread has not ended\n");
            return 1;
        }
        ended++;
    }
    if (!met)
        fprintf(stderr, "no thread had the number that was wanted, of %d\n", tried);
    printf("%d threads of a region; %s\n", threads, ended == tried ? "all threads have ended" :
           "not all threads have ended");
    return 0;
}
