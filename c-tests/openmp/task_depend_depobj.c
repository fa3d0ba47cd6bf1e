/* depobj: create, update to another kind, use, destroy (OpenMP 5.1, 2.19.10). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int x = 0, y = 0, reads = 0;
        omp_depend_t dx, dy;
#pragma omp depobj(dx) depend(out : x)
#pragma omp depobj(dy) depend(inout : y)
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 1; i <= 100; i++) {
#pragma omp task depend(depobj : dx, dy) shared(x, y)
                {
                    CHECK(x == i - 1);
                    x = i;
                    y += x;
                }
            }
#pragma omp depobj(dx) update(in)
            for (int i = 0; i < 10; i++) {
#pragma omp task depend(depobj : dx) shared(x, reads)
                {
                    CHECK(x == 100);
#pragma omp atomic
                    reads++;
                }
            }
#pragma omp task depend(out : x) shared(x, reads)
            {
                CHECK(reads == 10);
                x = -1;
            }
#pragma omp depobj(dy) update(mutexinoutset)
#pragma omp task depend(depobj : dy) shared(y)
            y++;
        }
#pragma omp depobj(dx) destroy
#pragma omp depobj(dy) destroy
        printf("%d %d %d\n", x, y, reads);
    }
    return check_end();
}
