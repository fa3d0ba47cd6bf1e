/* cancel taskgroup: tasks not begun are dropped, the group still ends, others are untouched (OpenMP 5.1, 2.20.1).
   hetmp-test: env=OMP_CANCELLATION=true */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int ran = 0, outside = 0, second = 0, past = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(outside)
#pragma omp atomic
                outside++;
            }
#pragma omp taskgroup
            {
#pragma omp task shared(past)
                {
#pragma omp cancel taskgroup
                    past++;
                }
                for (int i = 0; i < 500; i++) {
#pragma omp task shared(ran)
                    {
#pragma omp cancellation point taskgroup
#pragma omp atomic
                        ran++;
                    }
                }
            }
            CHECK(ran <= 500 && past == 0);
#pragma omp taskgroup
            {
                for (int i = 0; i < 50; i++) {
#pragma omp task shared(second)
                    {
#pragma omp cancellation point taskgroup
#pragma omp atomic
                        second++;
                    }
                }
            }
            CHECK(second == 50);
        }
        printf("%d %d\n", outside, second);
    }
    return check_end();
}
