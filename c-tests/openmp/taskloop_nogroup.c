/* taskloop nogroup does not wait; the barrier does; if(0) and final run it in place (OpenMP 5.1, 2.12.2). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int a = 0, b = 0, c = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp single nowait
            {
#pragma omp taskloop nogroup
                for (int i = 0; i < 400; i++)
#pragma omp atomic
                    a++;
#pragma omp taskloop if (0) nogroup
                for (int i = 0; i < 400; i++)
                    b++;
                CHECK(b == 400);
#pragma omp taskloop final(1)
                for (int i = 0; i < 400; i++)
#pragma omp atomic
                    c += omp_in_final();
                CHECK(c == 400);
            }
        }
        printf("%d %d %d\n", a, b, c);
    }
    return check_end();
}
