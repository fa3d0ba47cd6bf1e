/* A million small tasks from one thread, and from all (stress; OpenMP 5.1, 2.12.1).
   hetmp-test: threads=1,2
   hetmp-test: timeout=120 */
#include "check.h"

int main(void)
{
    static long hits[64][16];
    static unsigned char seen[1000000];
#pragma omp parallel
    {
#pragma omp single
        for (int i = 0; i < 1000000; i++) {
#pragma omp task
            {
                seen[i]++;
                hits[omp_get_thread_num()][0]++;
            }
        }
#pragma omp for
        for (int i = 0; i < 100000; i++) {
#pragma omp task
            hits[omp_get_thread_num()][0]++;
        }
    }
    long sum = 0;
    for (int t = 0; t < 64; t++)
        sum += hits[t][0];
    for (int i = 0; i < 1000000; i++)
        CHECK(seen[i] == 1);
    printf("%ld\n", sum);
    return check_end();
}
