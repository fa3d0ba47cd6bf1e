/* cancel sections: sections not begun are not run; each at most once (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int ran[4] = {0}, past = 0, next = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp sections
            {
#pragma omp section
                {
#pragma omp cancel sections
                    past++;
                }
#pragma omp section
                {
                    ran[1]++;
#pragma omp cancellation point sections
                }
#pragma omp section
                {
                    ran[2]++;
#pragma omp cancellation point sections
                }
#pragma omp section
                ran[3]++;
            }
#pragma omp sections
            {
#pragma omp section
#pragma omp atomic
                next++;
#pragma omp section
#pragma omp atomic
                next++;
            }
        }
        CHECK(past == 0 && next == 2);
        for (int i = 1; i < 4; i++)
            CHECK(ran[i] <= 1);
        if (n == 1)
            CHECK(ran[1] + ran[2] + ran[3] == 0);
        printf("%d\n", next);
    }
    return check_end();
}
