/* OMP_DISPLAY_AFFINITY prints a line a thread at its first region, with the format asked for (OpenMP 5.1, 6.13).
   hetmp-test: env=OMP_DISPLAY_AFFINITY=true
   hetmp-test: env=OMP_AFFINITY_FORMAT=line level %L of %N threads */
#include <unistd.h>
#include "check.h"

int main(void)
{
    fflush(stdout);
    dup2(1, 2);
    setvbuf(stderr, NULL, _IONBF, 0);
    int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
    n++;
#pragma omp parallel num_threads(3) reduction(+ : n)
    n++;
    printf("%d\n", n);
    return check_end();
}
