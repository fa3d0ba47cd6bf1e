/* master and masked, with and without filter; no barrier is implied (OpenMP 5.1, 2.8). */
#include "check.h"

int main(void)
{
    int master = 0, masked = 0, filtered = 0, none = 0;
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 100; i++) {
#pragma omp master
        {
            CHECK(omp_get_thread_num() == 0);
            master++;
        }
#pragma omp masked
        {
            CHECK(omp_get_thread_num() == 0);
            masked++;
        }
#pragma omp masked filter(i % 4)
        {
            CHECK(omp_get_thread_num() == i % 4);
#pragma omp atomic
            filtered++;
        }
#pragma omp masked filter(9)
        none++;
    }
    printf("%d %d %d %d\n", master, masked, filtered, none);
    return check_end();
}
