/* vfork and exec, posix_spawn and system between regions leave the team alone (POSIX).
   hetmp-test: timeout=20 */
#define _GNU_SOURCE
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

extern char **environ;

static int work(void)
{
    int count = 0;
#pragma omp parallel num_threads(4) reduction(+ : count)
    {
#pragma omp barrier
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return work() == 4 ? 40 : 1;
    CHECK(work() == 4);
    for (int round = 0; round < 5; round++) {
        int status = -1;
        char *args[] = {argv[0], "child", NULL};
        pid_t child = vfork();
        if (child == 0) {
            execv(argv[0], args);
            _exit(1);
        }
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 40);
        CHECK(work() == 4);
        CHECK(posix_spawn(&child, argv[0], NULL, NULL, args, environ) == 0);
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 40);
        CHECK(work() == 4);
        CHECK(system("exit 3") == 3 << 8);
        CHECK(work() == 4);
    }
    return check_end();
}
