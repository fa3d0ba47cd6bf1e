/* target on the host: regions run, once, on the initial device (OpenMP 5.1, 2.14.5). */
#include "check.h"

int main(void)
{
    int host = -1, x = 1, count = 0;
#pragma omp target map(from : host) map(tofrom : x) map(tofrom : count)
    {
        host = omp_is_initial_device();
        x += 41;
        count++;
    }
    printf("%d %d %d\n", host, x, count);
    CHECK(omp_get_num_devices() == 0);
    CHECK(omp_get_default_device() == 0);
    CHECK(omp_is_initial_device());
    CHECK(omp_get_initial_device() == omp_get_num_devices());
    CHECK(omp_get_device_num() == omp_get_initial_device());
    omp_set_default_device(3);
    CHECK(omp_get_default_device() == 3);
    return check_end();
}
