/* A parallel region inside a section, sections inside it (OpenMP 5.1, 2.10.1). */
#include "check.h"

int main(void)
{
    int hits[4] = {0};
    omp_set_max_active_levels(2);
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
#pragma omp parallel sections num_threads(2)
        {
#pragma omp section
            hits[0]++;
#pragma omp section
            hits[1]++;
        }
#pragma omp section
#pragma omp parallel num_threads(3)
        {
#pragma omp sections
            {
#pragma omp section
                hits[2]++;
#pragma omp section
                hits[3]++;
            }
        }
    }
    printf("%d %d %d %d\n", hits[0], hits[1], hits[2], hits[3]);
    return check_end();
}
