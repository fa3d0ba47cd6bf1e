/* Regions of all kinds in one program, thousands of times, sizes changing (stress).
   hetmp-test: timeout=120 */
#include "loop_check.h"

int main(void)
{
    long regions = 0, loops = 0, tasks = 0, sections = 0, singles = 0;
    for (int round = 0; round < 400; round++) {
        int n = 1 + round % 5;
#pragma omp parallel num_threads(n)
        {
#pragma omp atomic
            regions++;
#pragma omp for schedule(dynamic) nowait reduction(+ : loops)
            for (int i = 0; i < 50; i++)
                loops++;
#pragma omp single nowait
            {
                singles++;
                for (int i = 0; i < 20; i++) {
#pragma omp task shared(tasks)
#pragma omp atomic
                    tasks++;
                }
            }
#pragma omp sections nowait
            {
#pragma omp section
#pragma omp atomic
                sections++;
#pragma omp section
#pragma omp atomic
                sections++;
            }
#pragma omp for ordered schedule(static, 1)
            for (int i = 0; i < 10; i++) {
#pragma omp ordered
                loop_hit(i);
            }
        }
    }
    int wrong = 0;
    for (int i = 0; i < 10; i++)
        wrong += loop_hits[i] != (400 & 255);
    printf("%ld %ld %ld %ld %ld %d\n", regions, loops, tasks, sections, singles, wrong);
    return check_end();
}
