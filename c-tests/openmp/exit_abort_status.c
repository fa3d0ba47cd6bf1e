/* abort() in a region is seen as such by the parent. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
#pragma omp parallel num_threads(3)
        {
#pragma omp barrier
            if (omp_get_thread_num() == 1)
                abort();
#pragma omp barrier
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("%d\n", WIFSIGNALED(status) ? WTERMSIG(status) : -1);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    return check_end();
}
