/* taskwait waits for children, not for grandchildren (OpenMP 5.1, 2.19.5). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int children = 0, grand = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp single
            for (int round = 1; round <= 50; round++) {
                for (int i = 0; i < 10; i++) {
#pragma omp task shared(children, grand)
                    {
#pragma omp task shared(grand)
#pragma omp atomic
                        grand++;
#pragma omp atomic
                        children++;
                    }
                }
#pragma omp taskwait
                int c;
#pragma omp atomic read
                c = children;
                CHECK(c == round * 10);
            }
        }
        CHECK(grand == 500);
    }
    return check_end();
}
