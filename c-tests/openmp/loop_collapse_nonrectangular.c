/* collapse over triangular loops (OpenMP 5.1, 2.11.2). */
#include "loop_check.h"

int main(void)
{
    enum { N = 60 };
    for (int n = 1; n <= 7; n += 2) {
#pragma omp parallel num_threads(n)
        {
#pragma omp for collapse(2)
            for (int i = 0; i < N; i++)
                for (int j = 0; j <= i; j++)
                    loop_hit(i * N + j);
#pragma omp for collapse(2)
            for (int i = 0; i < N; i++)
                for (int j = i + 1; j < N; j++)
                    loop_hit(i * N + j);
        }
        LOOP_EXPECT(N * N, 1);
    }
    return check_end();
}
