/* A stack size that cannot be had: the region runs with fewer threads (libgomp ends the program).
   hetmp-test: only=hetmp
   hetmp-test: env=OMP_STACKSIZE=200T
   hetmp-test: timeout=30 */
#include "check.h"

int main(void)
{
    int count = 0, size = 0;
    long sum = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
        count++;
#pragma omp single
        size = omp_get_num_threads();
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += i;
    }
    CHECK(count == size && size >= 1 && size <= 4 && sum == 4950);
    return check_end();
}
