/* fork after a parallel region; the child opens regions, loops and tasks of its own (POSIX fork; libgomp hangs here).
   hetmp-test: only=hetmp
   hetmp-test: timeout=20 */
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

static int work(int n)
{
    int count = 0;
    long sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : count)
    {
        count++;
#pragma omp for schedule(dynamic, 3) reduction(+ : sum)
        for (int i = 0; i < 1000; i++)
            sum += i;
#pragma omp single
        for (int i = 0; i < 100; i++) {
#pragma omp task
#pragma omp atomic
            sum++;
        }
    }
    return count * 1000 + (sum == 499500 + 100);
}

int main(void)
{
    printf("parent %d\n", work(4));
    fflush(stdout);
    for (int round = 0; round < 5; round++) {
        pid_t child = fork();
        if (child == 0) {
            int r = work(4);
            int again = work(3);
            /* A grandchild, forked from a child that has used its own team. */
            pid_t grand = fork();
            if (grand == 0)
                _exit(work(4) == 4001 ? 0 : 1);
            int status = -1;
            waitpid(grand, &status, 0);
            _exit(r == 4001 && again == 3001 && status == 0 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
        CHECK(work(4) == 4001);
    }
    printf("parent %d\n", work(6));
    return check_end();
}
