/* lastprivate takes the value of the sequentially last iteration or section (OpenMP 5.1, 2.21.4.5). */
#include "loop_check.h"

int main(void)
{
    int x = -1, y = -1, z = -1, arr[4] = {0};
    for (int n = 1; n <= 7; n++) {
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(dynamic, 3) lastprivate(x)
            for (int i = 0; i < 100; i++)
                x = i * 2;
#pragma omp for schedule(guided) lastprivate(y, arr)
            for (int i = 100; i > 0; i--) {
                y = i;
                for (int k = 0; k < 4; k++)
                    arr[k] = i * 10 + k;
            }
#pragma omp sections lastprivate(z)
            {
#pragma omp section
                z = 1;
#pragma omp section
                z = 2;
#pragma omp section
                z = 3;
            }
        }
        printf("%d %d %d %d %d\n", x, y, z, arr[0], arr[3]);
    }
    int i;
#pragma omp parallel for schedule(static, 3) lastprivate(i) num_threads(4)
    for (i = 0; i < 77; i++)
        ;
    printf("%d\n", i);
    return check_end();
}
