/* Tasks in regions whose number of threads goes up and down: nothing is left over from a region to the next one. */
#include <stdio.h>

int main(void)
{
    long tasks = 0, ordered = 0;
    for (int round = 0; round < 200; round++) {
        int n = 2 + round % 5;
#pragma omp parallel num_threads(n)
        {
#pragma omp single nowait
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(tasks)
#pragma omp atomic
                tasks++;
            }
#pragma omp for ordered schedule(static, 1)
            for (int i = 0; i < 10; i++) {
#pragma omp ordered
                ordered++;
            }
        }
    }
    printf("%ld %ld\n", tasks, ordered);
    return 0;
}
