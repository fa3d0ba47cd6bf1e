/* Each section runs once, with fewer and more threads than sections (OpenMP 5.1, 2.10.1). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 10; n++) {
        int ran[6] = {0};
        for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(n)
            {
#pragma omp sections
                {
                    ran[0]++;
#pragma omp section
                    ran[1]++;
#pragma omp section
                    ran[2]++;
#pragma omp section
                    ran[3]++;
#pragma omp section
                    ran[4]++;
#pragma omp section
                    ran[5]++;
                }
                /* The implicit barrier: all sections are done here. */
                for (int i = 0; i < 6; i++)
                    CHECK(ran[i] == round + 1);
#pragma omp barrier
            }
        }
        for (int i = 0; i < 6; i++)
            CHECK(ran[i] == 20);
    }
    return check_end();
}
