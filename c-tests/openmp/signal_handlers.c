/* SIGALRM every millisecond and SIGUSR1 to the process during regions: waits are restarted, nothing is lost (EINTR).
   hetmp-test: timeout=60 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
#include "check.h"

static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
    (void)sig;
    ticks++;
}

int main(void)
{
    /* Without SA_RESTART, so that futex waits return early. */
    struct sigaction sa = {.sa_handler = on_tick};
    sigaction(SIGALRM, &sa, NULL);
    sigaction(SIGUSR1, &sa, NULL);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    long sum = 0;
    int singles = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
    for (int round = 0; round < 60; round++) {
#pragma omp parallel num_threads(6)
        {
#pragma omp for schedule(dynamic, 5) reduction(+ : sum)
            for (int i = 0; i < 300; i++)
                sum += i;
#pragma omp single
            {
                singles++;
                kill(getpid(), SIGUSR1);
                usleep(500);
            }
            omp_set_lock(&lock);
            usleep(10);
            omp_unset_lock(&lock);
#pragma omp critical
            sum += 0;
#pragma omp task shared(sum)
#pragma omp atomic
            sum += 1;
#pragma omp taskwait
        }
    }
    struct itimerval off = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &off, NULL);
    omp_destroy_lock(&lock);
    CHECK(ticks > 0);
    printf("%ld %d\n", sum, singles);
    return check_end();
}
