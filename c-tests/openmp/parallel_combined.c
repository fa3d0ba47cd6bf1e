/* Combined constructs: parallel for, parallel sections, parallel for simd, parallel masked taskloop (OpenMP 5.1, 2.16).
   */
#include "check.h"

int main(void)
{
    enum { N = 1000 };
    int a[N] = {0}, s[3] = {0}, simd[N] = {0}, t[N] = {0}, m[N] = {0};
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < N; i++)
        a[i]++;
#pragma omp parallel sections num_threads(4)
    {
#pragma omp section
        s[0]++;
#pragma omp section
        s[1]++;
#pragma omp section
        s[2]++;
    }
#pragma omp parallel for simd num_threads(3) schedule(simd : dynamic, 5)
    for (int i = 0; i < N; i++)
        simd[i]++;
#pragma omp parallel masked taskloop num_threads(4) grainsize(10)
    for (int i = 0; i < N; i++)
        t[i]++;
    int who = -1;
#pragma omp parallel master num_threads(4)
    who = omp_get_thread_num();
    CHECK(who == 0);
#pragma omp parallel master taskloop simd num_threads(4)
    for (int i = 0; i < N; i++)
        m[i]++;
    for (int i = 0; i < N; i++)
        CHECK(a[i] == 1 && simd[i] == 1 && t[i] == 1 && m[i] == 1);
    CHECK(s[0] == 1 && s[1] == 1 && s[2] == 1);
    return check_end();
}
