/* single nowait: thousands in a row, each taken once (OpenMP 5.1, 2.10.2). */
#include "check.h"

enum { N = 5000 };
static int taken[N];

int main(void)
{
#pragma omp parallel num_threads(6)
    for (int i = 0; i < N; i++) {
#pragma omp single nowait
        taken[i]++;
    }
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += taken[i] != 1;
    printf("%d\n", wrong);
    CHECK(wrong == 0);
    return check_end();
}
