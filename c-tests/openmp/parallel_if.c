/* if(false) runs the region on a team of one, still one level deeper (OpenMP 5.1, 2.6). */
#include "check.h"

int main(void)
{
    for (int on = 0; on < 2; on++) {
        int count = 0;
#pragma omp parallel if (on) num_threads(4) reduction(+ : count)
        {
            CHECK(omp_get_num_threads() == (on ? 4 : 1));
            CHECK(omp_get_level() == 1);
            CHECK(omp_get_active_level() == on);
            CHECK(omp_in_parallel() == on);
            count++;
        }
        printf("if(%d): %d\n", on, count);
    }
    /* A serialised region gives its inner region the whole choice again. */
    omp_set_max_active_levels(1);
    int inner = 0;
#pragma omp parallel if (0)
#pragma omp parallel num_threads(3) reduction(+ : inner)
    {
        CHECK(omp_get_level() == 2);
        CHECK(omp_get_active_level() == 1);
        inner++;
    }
    printf("inner %d\n", inner);
    return check_end();
}
