/* exit() inside a parallel region by one thread ends the process with its status; handlers run (C11 7.22.4.4).
   hetmp-test: exit=7
   hetmp-test: timeout=20 */
#include "check.h"

static void last(void)
{
    printf("handler\n");
    fflush(stdout);
}

int main(void)
{
    atexit(last);
#pragma omp parallel num_threads(4)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 2) {
            printf("leaving\n");
            exit(7);
        }
        /* The others wait at a barrier that never completes. */
#pragma omp barrier
    }
    printf("not reached\n");
    return 0;
}
