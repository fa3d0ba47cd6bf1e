/* A process forks at any time while another of its threads opens its first region, and the child opens one, too: what
   that thread was making for all regions is not half made in the child.
   hetmp-test: env=HETMP_NODES=cores=0;cores=1
   hetmp-test: env=HETMP_SCHEDULE=hetprobe
   hetmp-test: threads=2
   hetmp-test: libs=-lpthread
   hetmp-test: timeout=120 */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

enum { PROCESSES = 150, STEP_NS = 20000 };

#define REGION(name) \
    static long name(int n) \
    { \
        long s = 0; \
        _Pragma("omp parallel for reduction(+ : s)") for (int i = 0; i < n; i++) s += i; \
        return s; \
    }
REGION(first)
REGION(second)

static void *opens(void *wrong)
{
    *(int *)wrong = first(1000) != 499500;
    return NULL;
}

static int ended(pid_t child)
{
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0;
}

/* A new process, since each makes these things once; it forks some time after its thread has begun. */
static int process(int k)
{
    pthread_t thread;
    int wrong = 0;
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    pthread_create(&thread, NULL, opens, &wrong);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000l + now.tv_nsec - from.tv_nsec < k % 100 * STEP_NS);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(second(1000) != 499500);
    }
    int fine = ended(child);
    pthread_join(thread, NULL);
    return fine && !wrong;
}

int main(void)
{
    int fine = 0;
    for (int k = 0; k < PROCESSES; k++) {
        pid_t one = fork();
        if (one == 0)
            _exit(!process(k));
        fine += ended(one);
    }
    CHECK(fine == PROCESSES);
    return check_end();
}
