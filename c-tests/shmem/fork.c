/* A PE may start other processes: system(), popen() and fork() with exec, and a child that ends by itself must not
 * take the PE's part in the job with it. */
#include "shtest.h"
#include <sys/wait.h>
#include <unistd.h>

static long box;
static volatile int at_fork;

int main(void) {
    test_begin();
    shmem_barrier_all();
    for (int r = 0; r < 3; r++) {
        CHECK(system("exit 3") >> 8 == 3);
        char line[64] = "";
        FILE *pipe = popen("echo hello", "r");
        CHECK(pipe != NULL && fgets(line, sizeof line, pipe) != NULL && strcmp(line, "hello\n") == 0);
        pclose(pipe);
        pid_t child = fork();
        if (child == 0) {
            /* The child's memory is its own as far as this is no symmetric memory; it calls no library. */
            char *argument[] = {"true", NULL};
            execvp("true", argument);
            _exit(9);
        }
        int status = -1;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        child = fork();
        if (child == 0) {
            /* Runs exit handlers, as a careless child does. */
            exit(4);
        }
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 4);
        /* The child has the static data of the moment of the fork, whatever the parent does next. */
        at_fork = 5 + r;
        child = fork();
        if (child == 0) {
            struct timespec pause = {0, 20000000};
            nanosleep(&pause, NULL);
            _exit(at_fork == 5 + r ? 0 : 9);
        }
        at_fork = 100;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
        CHECKF(WEXITSTATUS(status) == 0, "%d", WEXITSTATUS(status));
        shmem_long_p(&box, me + r * 10, next);
        shmem_barrier_all();
        CHECK(box == prev + r * 10);
        shmem_barrier_all();
    }
    return test_end("fork");
}
