/* Teams that grow and shrink from region to region keep numbers and barriers right (OpenMP 5.1, 2.6). */
#include "check.h"

int main(void)
{
    static const int sizes[] = {1, 8, 2, 16, 3, 1, 7, 16, 2, 2, 9, 1, 1, 4, 12, 5};
    long total = 0;
    for (int round = 0; round < 15; round++)
        for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            int slot[16] = {0};
#pragma omp parallel num_threads(sizes[k])
            {
                int n = omp_get_num_threads();
                slot[omp_get_thread_num()] = 1;
#pragma omp barrier
                int have = 0;
                for (int i = 0; i < 16; i++)
                    have += slot[i];
                CHECK(have == n && n == sizes[k]);
#pragma omp atomic
                total++;
            }
        }
    printf("%ld\n", total);
    return check_end();
}
