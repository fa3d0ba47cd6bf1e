/* num_threads gives exactly the team asked for when dynamic adjustment is off (OpenMP 5.1, 2.6.1). */
#include "check.h"

int main(void)
{
    omp_set_dynamic(0);
    for (int n = 1; n <= 24; n++) {
        int count = 0, sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : count, sum)
        {
            CHECK(omp_get_num_threads() == n);
            count++;
            sum += omp_get_thread_num();
        }
        CHECK(count == n);
        CHECK(sum == n * (n - 1) / 2);
        printf("%d: %d %d\n", n, count, sum);
    }
    return check_end();
}
