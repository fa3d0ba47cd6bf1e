/* Workers of threads that have ended serve only threads whose own workers would be like them: the same signal mask,
   CPUs and floating-point modes. A child of fork does without them, and omp_pause_resource_all ends them.
   hetmp-test: only=hetmp
   hetmp-test: threads=2 */
#define _GNU_SOURCE
#include "../check.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xmmintrin.h>

static struct properties {
    long thread;
    int blocked, cpus;
    unsigned flushes;
} worker;

enum change { NOTHING, SIGNALS, CPUS, FLUSH };

static void *open_region(void *change)
{
    sigset_t signals;
    cpu_set_t cpus;
    switch (*(enum change *)change) {
    case SIGNALS:
        sigemptyset(&signals);
        sigaddset(&signals, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &signals, NULL);
        break;
    case CPUS:
        sched_getaffinity(0, sizeof cpus, &cpus);
        for (int cpu = 0, kept = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &cpus) && kept++)
                CPU_CLR(cpu, &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
        break;
    case FLUSH:
        _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
        break;
    case NOTHING:
        break;
    }
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        sigset_t mine;
        cpu_set_t on;
        pthread_sigmask(SIG_BLOCK, NULL, &mine);
        sched_getaffinity(0, sizeof on, &on);
        worker = (struct properties){syscall(SYS_gettid), sigismember(&mine, SIGUSR1), CPU_COUNT(&on),
                                     _MM_GET_FLUSH_ZERO_MODE()};
    }
    /* libomp 19 crashes in tasks of a worker that another thread had. */
    int sum = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 1; i <= 100; i++) {
#pragma omp task shared(sum)
        {
#pragma omp atomic
            sum += i;
        }
    }
    CHECK(sum == 5050);
    return NULL;
}

static struct properties run(enum change change)
{
    pthread_t opener;
    CHECK(pthread_create(&opener, NULL, open_region, &change) == 0);
    CHECK(pthread_join(opener, NULL) == 0);
    return worker;
}

int main(void)
{
    struct properties plain = run(NOTHING), one;
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    CHECK(!plain.blocked && plain.cpus == CPU_COUNT(&cpus) && !plain.flushes);
    one = run(SIGNALS);
    CHECK(one.blocked && one.thread != plain.thread);
    CHECK(run(SIGNALS).thread == one.thread);
    one = run(CPUS);
    CHECK(one.cpus == 1 && !one.blocked);
    one = run(FLUSH);
    CHECK(one.flushes && one.thread != plain.thread);
    one = run(NOTHING);
    CHECK(one.thread == plain.thread && !one.blocked && !one.flushes && one.cpus == plain.cpus);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        CHECK(run(NOTHING).thread != plain.thread);
        fflush(stdout);
        _exit(check_failures != 0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(run(NOTHING).thread == plain.thread);
    CHECK(omp_pause_resource_all(omp_pause_soft) == 0);
    CHECK(run(NOTHING).thread != plain.thread);
    return check_end();
}
