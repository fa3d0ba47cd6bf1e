/* The loop construct with its bindings and order(concurrent) (OpenMP 5.1, 2.11.7). */
#include "loop_check.h"

int main(void)
{
    int sum = 0;
#pragma omp parallel num_threads(4)
    {
#pragma omp loop bind(parallel)
        for (int i = 0; i < 1000; i++)
            loop_hit(i);
#pragma omp for order(concurrent)
        for (int i = 0; i < 1000; i++)
            loop_hit(i);
    }
#pragma omp parallel loop reduction(+ : sum) num_threads(3) collapse(2)
    for (int i = 0; i < 100; i++)
        for (int j = 0; j < 10; j++) {
            loop_hit(i * 10 + j);
            sum += j;
        }
#pragma omp teams loop
    for (int i = 0; i < 1000; i++)
        loop_hit(i);
#pragma omp loop bind(thread)
    for (int i = 0; i < 1000; i++)
        loop_hit(i);
    LOOP_EXPECT(1000, 5);
    printf("%d\n", sum);
    return check_end();
}
