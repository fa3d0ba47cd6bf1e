/* A list in OMP_NUM_THREADS implies nesting (libgomp: max-active-levels becomes its maximum; OpenMP 5.1, 6.2).
   hetmp-test: env=OMP_NUM_THREADS=3,2
   hetmp-test: env=OMP_NESTED=
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=
   hetmp-test: threads=3 */
#include "check.h"

int main(void)
{
    int leaves = 0;
#pragma omp parallel reduction(+ : leaves)
#pragma omp parallel reduction(+ : leaves)
    leaves++;
    printf("%d\n", leaves);
    return check_end();
}
