/* target regions opened by many threads and tasks at once, with regions inside (OpenMP 5.1, 2.14.5). */
#include "check.h"

int main(void)
{
    int total = 0;
#pragma omp parallel num_threads(6)
    for (int i = 0; i < 50; i++) {
        int mine = 0;
#pragma omp target map(tofrom : mine)
        {
            /* The host fallback is a new initial task: level 0 of its own. */
            CHECK(omp_get_level() == 0);
            CHECK(omp_get_num_threads() == 1 && omp_get_thread_num() == 0);
            mine += 2;
        }
        CHECK(omp_get_level() == 1 && omp_get_num_threads() == 6);
#pragma omp task firstprivate(mine) shared(total)
        {
            int x = mine;
#pragma omp target map(tofrom : x)
            x++;
#pragma omp atomic
            total += x;
        }
    }
    printf("%d\n", total);
    return check_end();
}
