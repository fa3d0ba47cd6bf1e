/* A worker that has reported the end of its region must not look at its part of the team: the thread that opened the
   region makes all parts anew for a larger team, and frees them when it ends. Memory checkers see it
   (scripts/sanitize). hetmp-test: env=OMP_WAIT_POLICY=passive
   hetmp-test: timeout=60 */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

static void *root(void *arg)
{
    int last = *(int *)arg;
    for (int n = 2; n <= last; n++) {
#pragma omp parallel num_threads(n)
        if (omp_get_thread_num() == n - 1) {
            /* Whoever this thread wakes runs before it. */
            struct sched_param p = { 0 };
            sched_setscheduler(0, SCHED_IDLE, &p);
            /* The others sleep in the join meanwhile. */
            usleep(2000);
#pragma omp task if (n > 2)
            ;
        }
    }
    return NULL;
}

int main(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    int last = 4;
    for (int i = 0; i < 5; i++) {
        pthread_t t;
        pthread_create(&t, NULL, root, &last);
        pthread_join(t, NULL);
    }
    return check_end();
}
