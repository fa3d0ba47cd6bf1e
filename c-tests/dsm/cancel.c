/* Constructs that could be cancelled. Unless the user allows cancellation they run to their ends, on all nodes. */
#include <omp.h>
#include <stdio.h>

enum { N = 200 };

static int hits[N], parts, tasks, through;

int main(void)
{
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < N; i++) {
            hits[i]++;
#pragma omp cancel for if (i < 0)
#pragma omp cancellation point for
        }
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp atomic
                parts++;
#pragma omp cancel sections if (parts > 5)
            }
#pragma omp section
#pragma omp atomic
            parts++;
        }
#pragma omp single
#pragma omp taskgroup
        for (int i = 0; i < 10; i++) {
#pragma omp task
            {
#pragma omp atomic
                tasks++;
#pragma omp cancel taskgroup if (tasks > 100)
            }
        }
#pragma omp barrier
#pragma omp atomic
        through++;
#pragma omp cancel parallel if (through > 100)
    }
    int sum = 0;
    for (int i = 0; i < N; i++)
        sum += hits[i];
    printf("%d iterations, %d sections, %d tasks, %d threads\n", sum, parts, tasks, through);
    return 0;
}
