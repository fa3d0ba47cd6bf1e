/* Loops of no iterations, in every schedule, with and without nowait (OpenMP 5.1, 2.11.1). */
#include "loop_check.h"

int main(void)
{
    int ran = 0;
    for (int round = 0; round < 30; round++) {
        int zero = round & 1 ? 0 : -5;
#pragma omp parallel num_threads(4) reduction(+ : ran)
        {
#pragma omp for schedule(static)
            for (int i = 0; i < zero; i++)
                ran++;
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < zero; i++)
                ran++;
#pragma omp for schedule(guided, 3) nowait
            for (long i = 10; i < zero; i++)
                ran++;
#pragma omp for schedule(dynamic, 2) nowait
            for (unsigned long long i = 7; i < 7; i++)
                ran++;
#pragma omp for schedule(runtime) ordered
            for (int i = 0; i < zero; i++) {
#pragma omp ordered
                ran++;
            }
#pragma omp for schedule(dynamic)
            for (int i = 3; i < 3; i--)
                ran++;
        }
    }
    printf("%d\n", ran);
    return check_end();
}
