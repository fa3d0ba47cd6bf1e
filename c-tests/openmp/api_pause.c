/* omp_pause_resource: legal outside of regions, regions work again afterwards (OpenMP 5.1, 3.2.29-30). */
#include "check.h"

int main(void)
{
    int n = 0;
#pragma omp parallel num_threads(4) reduction(+ : n)
    n++;
    int r = omp_pause_resource(omp_pause_soft, omp_get_initial_device());
    int s = omp_pause_resource_all(omp_pause_hard);
#pragma omp parallel num_threads(4) reduction(+ : n)
    n++;
    int inside = 0;
#pragma omp parallel num_threads(2) reduction(+ : inside)
    inside += omp_pause_resource(omp_pause_soft, omp_get_initial_device()) != 0;
    int bad = omp_pause_resource((omp_pause_resource_t)9, omp_get_initial_device());
    printf("%d %d %d %d\n", n, r, s, bad);
    CHECK(inside == 2);
    return check_end();
}
