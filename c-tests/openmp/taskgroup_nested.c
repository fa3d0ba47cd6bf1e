/* Nested taskgroups: the inner one waits for its own tasks, the outer for all (OpenMP 5.1, 2.19.6). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int outer = 0, inner = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskgroup
            {
                for (int i = 0; i < 20; i++) {
#pragma omp task shared(outer, inner)
                    {
                        int mine = 0;
#pragma omp taskgroup
                        {
                            for (int k = 0; k < 7; k++) {
#pragma omp task shared(mine)
                                {
#pragma omp task shared(mine)
#pragma omp atomic
                                    mine++;
                                }
                            }
                        }
                        CHECK(mine == 7);
#pragma omp atomic
                        inner += mine;
#pragma omp task shared(outer)
#pragma omp atomic
                        outer++;
                    }
                }
            }
            CHECK(outer == 20 && inner == 140);
        }
    }
    return check_end();
}
