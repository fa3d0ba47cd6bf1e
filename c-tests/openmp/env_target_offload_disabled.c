/* OMP_TARGET_OFFLOAD=DISABLED runs everything on the host (OpenMP 5.1, 6.17).
   hetmp-test: env=OMP_TARGET_OFFLOAD=disabled */
#include "check.h"

int main(void)
{
    int x = 0;
#pragma omp target map(tofrom : x)
    x = omp_is_initial_device() ? 5 : 6;
    printf("%d %d\n", x, omp_get_num_devices());
    return check_end();
}
