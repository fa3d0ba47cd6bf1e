/* fork inside a region by a pool thread; the child, that thread, opens regions (POSIX fork; libgomp hangs here).
   hetmp-test: only=hetmp
   hetmp-test: timeout=20 */
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

int main(void)
{
    int good = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3) reduction(+ : good)
    {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            int count = 0;
#pragma omp parallel num_threads(3) reduction(+ : count)
            count++;
            _exit(count);
        }
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 3;
    }
    printf("%d\n", good);
    return check_end();
}
