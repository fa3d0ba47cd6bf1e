/* A parallel region inside a target region inside a parallel region has threads of its own (OpenMP 5.1, 2.14.5). */
#include "check.h"

int main(void)
{
    int count = 0;
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 5; i++) {
        int mine = 0;
#pragma omp target map(tofrom : mine)
#pragma omp parallel num_threads(3) reduction(+ : mine)
        {
            CHECK(omp_get_level() == 1);
            CHECK(omp_get_num_threads() == 3);
            mine += 1;
        }
#pragma omp atomic
        count += mine;
    }
    printf("%d\n", count);
    return check_end();
}
