/* The affinity clause is accepted, with iterators too (OpenMP 5.1, 2.12.1.1). */
#include "check.h"

int main(void)
{
    int a[100] = {0}, sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 100; i++) {
#pragma omp task affinity(a[i]) shared(a)
        a[i] = i;
#pragma omp task affinity(iterator(k = 0 : 10) : a[k]) shared(sum)
#pragma omp atomic
        sum += i;
    }
    for (int i = 0; i < 100; i++)
        CHECK(a[i] == i);
    printf("%d\n", sum);
    return check_end();
}
