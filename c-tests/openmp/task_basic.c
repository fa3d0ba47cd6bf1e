/* Every explicit task runs once, whoever creates it (OpenMP 5.1, 2.12.1). */
#include "check.h"

enum { N = 2000 };
static int ran[8][N];

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        memset(ran, 0, sizeof ran);
        int one = 0;
#pragma omp parallel num_threads(n)
        {
            int me = omp_get_thread_num();
            for (int i = 0; i < N; i++) {
#pragma omp task firstprivate(me, i)
                {
#pragma omp atomic
                    ran[me][i]++;
                }
            }
#pragma omp single
            for (int i = 0; i < N; i++) {
#pragma omp task shared(one)
#pragma omp atomic
                one++;
            }
        }
        CHECK(one == N);
        for (int t = 0; t < 8; t++)
            for (int i = 0; i < N; i++)
                CHECK(ran[t][i] == (t < n));
    }
    return check_end();
}
