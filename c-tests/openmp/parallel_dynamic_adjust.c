/* With dynamic adjustment the team may be smaller, never larger, and is consistent (OpenMP 5.1, 2.6.1). */
#include "check.h"

int main(void)
{
    omp_set_dynamic(1);
    CHECK(omp_get_dynamic() == 1);
    for (int want = 1; want <= 12; want++) {
        int count = 0, size = 0;
#pragma omp parallel num_threads(want)
        {
#pragma omp atomic
            count++;
#pragma omp single
            size = omp_get_num_threads();
        }
        CHECK(size >= 1 && size <= want && count == size);
    }
    omp_set_dynamic(0);
    CHECK(omp_get_dynamic() == 0);
    int count = 0;
#pragma omp parallel num_threads(12) reduction(+ : count)
    count++;
    printf("%d\n", count);
    return check_end();
}
