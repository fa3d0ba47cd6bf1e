/* _exit and quick_exit from a task end the process at once.
   hetmp-test: exit=5
   hetmp-test: timeout=20 */
#include <unistd.h>
#include "check.h"

int main(void)
{
    printf("start\n");
    fflush(stdout);
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp task
        quick_exit(5);
#pragma omp taskwait
    }
    return 1;
}
