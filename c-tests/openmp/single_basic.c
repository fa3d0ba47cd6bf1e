/* single runs on one thread a time round, the others wait (OpenMP 5.1, 2.10.2). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 9; n += 2) {
        int count = 0;
#pragma omp parallel num_threads(n)
        for (int i = 0; i < 500; i++) {
#pragma omp single
            count++;
            CHECK(count == i + 1);
#pragma omp barrier
        }
        printf("%d\n", count);
    }
    return check_end();
}
