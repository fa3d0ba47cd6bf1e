/* A place list that does not parse is reported and ignored (OpenMP 5.1, 6.5).
   hetmp-test: env=OMP_PLACES={0},{x */
#include "check.h"

int main(void)
{
    int n = 0;
    printf("%d\n", omp_get_num_places());
#pragma omp parallel num_threads(4) reduction(+ : n)
    n++;
    printf("%d\n", n);
    return check_end();
}
