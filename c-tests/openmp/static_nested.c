/* Regions inside of regions, and static loops in both.
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=2
   hetmp-test: threads=1,2 */
#include "loop_check.h"

int main(void)
{
    enum { N = 40 };
    static int a[N][N];
#pragma omp parallel for
    for (int i = 0; i < N; i++) {
#pragma omp parallel for
        for (int j = 0; j < N; j++)
            a[i][j] += i * j;
    }
    long sum = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            sum += a[i][j];
    printf("%ld\n", sum);
    return check_end();
}
