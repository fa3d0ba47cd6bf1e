/* Iterators in depend clauses: a task that waits for a computed set of others (OpenMP 5.1, 2.1.6). */
#include "check.h"

int main(void)
{
    enum { N = 64 };
    for (int n = 1; n <= 8; n++) {
        int v[N] = {0}, sum[8] = {0}, all = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 0; i < N; i++) {
#pragma omp task depend(out : v[i]) shared(v)
                v[i] = i + 1;
            }
            for (int b = 0; b < 8; b++) {
#pragma omp task depend(iterator(k = 0 : 8), in : v[b * 8 + k]) depend(out : sum[b]) shared(v, sum)
                for (int k = 0; k < 8; k++) {
                    CHECK(v[b * 8 + k] == b * 8 + k + 1);
                    sum[b] += v[b * 8 + k];
                }
            }
#pragma omp task depend(iterator(long k = 7 : -1 : -1), in : sum[k]) shared(sum, all)
            for (int b = 0; b < 8; b++)
                all += sum[b];
        }
        printf("%d\n", all);
    }
    return check_end();
}
