/* Ends in the way that the argument says, after one region. */
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void first(void) {
#pragma omp parallel num_threads(2) /* first */
    usleep(1000);
}
static void second(void) {
#pragma omp parallel num_threads(2) /* second */
    usleep(1000);
}
int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    first();
    if (!strcmp(how, "kill")) {
        static volatile int waits;
        omp_lock_t lock;
        omp_init_lock(&lock);
        omp_set_lock(&lock);
#pragma omp parallel num_threads(2) /* killed */
        {
            if (omp_get_thread_num() == 1) {
                while (!waits) usleep(1000);
                usleep(50000);
                kill(getpid(), SIGKILL);
            }
            waits = 1;
            omp_set_lock(&lock); /* deadlock */
        }
    }
    if (!strcmp(how, "fork")) {
        pid_t child = fork();
        if (child == 0) {
            second();
            exit(0);
        }
        int status;
        return waitpid(child, &status, 0) != child || status != 0;
    }
    if (!strcmp(how, "exec")) execl(words[0], words[0], "second", (char *)NULL);
    if (!strcmp(how, "second")) second();
    if (!strcmp(how, "nested")) {
        omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) /* outer */
        second();
    }
    if (!strcmp(how, "inside")) {
#pragma omp parallel num_threads(2) /* inside */
        {
#pragma omp master
            exit(3);
#pragma omp barrier
        }
    }
    return 0;
}
