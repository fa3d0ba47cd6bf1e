/* OMP_DYNAMIC=true allows smaller teams and is reported (OpenMP 5.1, 6.3).
   hetmp-test: env=OMP_DYNAMIC=true */
#include "check.h"

int main(void)
{
    CHECK(omp_get_dynamic());
    int n = 0, size = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        n++;
#pragma omp single
        size = omp_get_num_threads();
    }
    CHECK(n == size && n >= 1 && n <= 4);
    return check_end();
}
