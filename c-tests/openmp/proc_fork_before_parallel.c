/* fork before any region: both sides open regions (POSIX fork). */
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
    pid_t child = fork();
    if (child == 0)
        _exit(work());
    int mine = work(), status = -1;
    waitpid(child, &status, 0);
    printf("%d %d\n", mine, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return check_end();
}
