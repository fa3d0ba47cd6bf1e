/* Query routines called in a signal handler on a pool thread answer for that thread. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include "check.h"

static __thread volatile int seen;

static void on_signal(int sig)
{
    (void)sig;
    seen = omp_get_thread_num() * 100 + omp_get_num_threads() + 1000 * omp_get_level();
}

int main(void)
{
    struct sigaction sa = {.sa_handler = on_signal};
    sigaction(SIGUSR2, &sa, NULL);
    int v[4] = {0};
#pragma omp parallel num_threads(4)
    {
        pthread_kill(pthread_self(), SIGUSR2);
        v[omp_get_thread_num()] = seen;
    }
    printf("%d %d %d %d\n", v[0], v[1], v[2], v[3]);
    return check_end();
}
