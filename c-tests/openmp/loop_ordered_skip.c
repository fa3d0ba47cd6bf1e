/* Iterations that skip their ordered region do not hold up the later ones (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int last = -1, count = 0;
#pragma omp parallel for ordered schedule(dynamic) num_threads(n)
        for (int i = 0; i < 500; i++) {
            if (i % 3 == 0)
                continue;
#pragma omp ordered
            {
                CHECK(i > last);
                last = i;
                count++;
            }
        }
        printf("%d %d\n", last, count);
    }
    return check_end();
}
