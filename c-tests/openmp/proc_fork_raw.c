/* _Fork and raw clone skip the atfork handlers; the child can still open regions (POSIX.1-2024 _Fork).
   hetmp-test: only=hetmp
   hetmp-test: timeout=20 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

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

int main(void)
{
    printf("%d\n", work());
    fflush(stdout);
    pid_t child = _Fork();
    if (child == 0)
        _exit(work());
    int status = -1;
    waitpid(child, &status, 0);
    printf("_Fork %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    fflush(stdout);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(work());
    status = -1;
    waitpid(child, &status, 0);
    printf("clone %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    printf("%d\n", work());
    return check_end();
}
