/* fork inside a region; the child only does work of its own and leaves by _exit (POSIX fork). */
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
    int good = 0;
#pragma omp parallel num_threads(4) reduction(+ : good)
    for (int i = 0; i < 3; i++) {
        int me = omp_get_thread_num(), status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(omp_get_thread_num() == me && omp_get_num_threads() == 4 ? me : 99);
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == me;
#pragma omp barrier
    }
    printf("%d\n", good);
    return check_end();
}
