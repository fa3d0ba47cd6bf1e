/* Dependences bind siblings only: equal addresses under different parents do not order (OpenMP 5.1, 2.19.11). */
#include "check.h"

int main(void)
{
    int x = 0, inner = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        for (int p = 0; p < 20; p++) {
            /* The parents are ordered by x, and their children by x among themselves: a child must not wait
               for its own parent. */
#pragma omp task depend(inout : x) shared(x, inner)
            {
                int y = 0;
                for (int c = 0; c < 10; c++) {
#pragma omp task depend(inout : x, y) shared(x, y, inner)
                    {
                        CHECK(y == c);
                        y++;
                        inner++;
                    }
                }
#pragma omp taskwait
                x++;
            }
        }
    }
    printf("%d %d\n", x, inner);
    return check_end();
}
