/* When the environment is read: at the first call of the library, not when it is loaded (libgomp). What the program
   sets before that counts, and nothing after.
   hetmp-test: only=hetmp
   hetmp-test: threads=2
   hetmp-test: env=OMP_DYNAMIC=false */
#define _GNU_SOURCE
#include <stdlib.h>
#include "check.h"

static int team(void)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    n = omp_get_num_threads();
    return n;
}

int main(void)
{
    setenv("OMP_NUM_THREADS", "3", 1);
    printf("%d %d\n", omp_get_max_threads(), team());
    setenv("OMP_NUM_THREADS", "5", 1);
    printf("%d %d\n", omp_get_max_threads(), team());
    return check_end();
}
