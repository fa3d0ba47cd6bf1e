/* Pool threads do not take signals away from sigwait of a thread that blocked them before the first region. */
#define _GNU_SOURCE
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
    sigset_t set, now;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int n = 0;
#pragma omp parallel num_threads(4) reduction(+ : n)
    {
        /* Threads inherit the mask of the thread that opened the first region. */
        pthread_sigmask(SIG_BLOCK, NULL, &now);
        n += sigismember(&now, SIGUSR1);
    }
    for (int i = 0; i < 5; i++) {
        kill(getpid(), SIGUSR1);
        struct timespec limit = {5, 0};
        CHECK(sigtimedwait(&set, NULL, &limit) == SIGUSR1);
    }
    printf("%d\n", n);
    return check_end();
}
