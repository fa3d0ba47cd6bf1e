/* Three nested active levels: numbers, sizes and ancestors at each (OpenMP 5.1, 2.6 and 3.2.16-19). */
#include "check.h"

int main(void)
{
    int cells[3][2][4];
    memset(cells, 0, sizeof cells);
    omp_set_max_active_levels(3);
    omp_set_dynamic(0);
#pragma omp parallel num_threads(3)
    {
        int a = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        {
            int b = omp_get_thread_num();
#pragma omp parallel num_threads(4)
            {
                int c = omp_get_thread_num();
                CHECK(omp_get_level() == 3 && omp_get_active_level() == 3);
                CHECK(omp_get_ancestor_thread_num(0) == 0);
                CHECK(omp_get_ancestor_thread_num(1) == a);
                CHECK(omp_get_ancestor_thread_num(2) == b);
                CHECK(omp_get_ancestor_thread_num(3) == c);
                CHECK(omp_get_ancestor_thread_num(4) == -1);
                CHECK(omp_get_ancestor_thread_num(-1) == -1);
                CHECK(omp_get_team_size(0) == 1 && omp_get_team_size(1) == 3);
                CHECK(omp_get_team_size(2) == 2 && omp_get_team_size(3) == 4);
                CHECK(omp_get_team_size(4) == -1);
#pragma omp atomic
                cells[a][b][c]++;
#pragma omp barrier
            }
            CHECK(omp_get_level() == 2 && omp_get_thread_num() == b && omp_get_num_threads() == 2);
        }
        CHECK(omp_get_level() == 1 && omp_get_thread_num() == a && omp_get_num_threads() == 3);
    }
    int sum = 0;
    for (int i = 0; i < 24; i++) {
        sum += ((int *)cells)[i];
        CHECK(((int *)cells)[i] == 1);
    }
    printf("%d\n", sum);
    return check_end();
}
