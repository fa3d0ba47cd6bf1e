/* posix_spawn from several threads inside a region (POSIX).
   hetmp-test: timeout=20 */
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

extern char **environ;

int main(int argc, char **argv)
{
    if (argc > 1) {
        int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
        n++;
        return n;
    }
    int good = 0;
#pragma omp parallel num_threads(4) reduction(+ : good)
    {
        char *args[] = {argv[0], "child", NULL};
        pid_t child;
        int status = -1;
        if (posix_spawn(&child, argv[0], NULL, NULL, args, environ) == 0)
            waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 2;
#pragma omp barrier
    }
    printf("%d\n", good);
    return check_end();
}
