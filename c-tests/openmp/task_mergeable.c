/* mergeable tasks, deferred, undeferred and included, run once (OpenMP 5.1, 2.12.1). */
#include "check.h"

int main(void)
{
    int a = 0, b = 0, c = 0;
#pragma omp parallel num_threads(3)
#pragma omp single
    for (int i = 0; i < 300; i++) {
#pragma omp task mergeable shared(a)
#pragma omp atomic
        a++;
#pragma omp task mergeable if (0) shared(b)
#pragma omp atomic
        b++;
#pragma omp task mergeable final(1) shared(c)
#pragma omp atomic
        c++;
    }
    printf("%d %d %d\n", a, b, c);
    return check_end();
}
