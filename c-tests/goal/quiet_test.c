/* GOAL_Test reads memory and makes no system call: in a thread that may make none (seccomp's strict mode ends it, and
 * so the process, at the first), on runs that go on and on runs that have ended. goal-test: engine=thread */
/* goal-test: env=HETMP_GOAL_NONBLOCKING=schedule */
#include "gtest.h"
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static GOAL_Handle tested;
static volatile int ended, refused, failed;
static long sum;

static void *silent(void *unused)
{
    int done = 0, i;
    /* A thread's first allocation asks the system for memory. */
    void *volatile warm = malloc(100);
    free(warm);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        refused = 1;
        return unused;
    }
    for (i = 0; i < 100000 && !done; i++)
        failed |= GOAL_Test(&tested, &done) != GOAL_SUCCESS;
    ended = 1;
    /* The return from a thread's function makes other calls than this one, which the mode allows. */
    syscall(SYS_exit, 0);
    return unused;
}

int main(void)
{
    pthread_t thread;
    long mine;
    int i;
    begin("quiet_test");
    mine = me();
    for (i = 0; i < 5; i++) {
        sum = -1;
        ended = refused = 0;
        CHECK(goal_iallreduce(&mine, &sum, 1, GOAL_LONG, GOAL_ADD, &tested) == GOAL_SUCCESS);
        /* One rank is late, so that the others test what goes on. */
        usleep(me() == 0 ? 3000 : 0);
        CHECK(pthread_create(&thread, NULL, silent, NULL) == 0);
        while (!ended && !refused)
            usleep(100);
        if (tested != GOAL_HANDLE_NULL)
            CHECK(GOAL_Wait(&tested) == GOAL_SUCCESS);
        CHECK(!failed && sum == (long)ranks() * (ranks() - 1) / 2);
    }
    return finish();
}
