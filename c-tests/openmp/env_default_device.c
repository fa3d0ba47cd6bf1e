/* OMP_DEFAULT_DEVICE sets the ICV even without devices; target regions still run (OpenMP 5.1, 6.15).
   hetmp-test: env=OMP_DEFAULT_DEVICE=2 */
#include "check.h"

int main(void)
{
    int x = 0;
    printf("%d\n", omp_get_default_device());
#pragma omp target map(tofrom : x)
    x = 7;
    printf("%d\n", x);
    return check_end();
}
