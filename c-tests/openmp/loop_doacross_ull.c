/* Doacross over unsigned long long in one and two dimensions (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

enum { N = 50 };
static unsigned a[N + 1], b[20][20];

int main(void)
{
    unsigned long long base = ~0ull - 5000;
    for (int n = 1; n <= 6; n += 2) {
        memset(a, 0, sizeof a);
        memset(b, 0, sizeof b);
#pragma omp parallel num_threads(n)
        {
#pragma omp for ordered(1) schedule(dynamic, 2)
            for (unsigned long long i = base; i < base + N; i++) {
#pragma omp ordered depend(sink : i - 1)
                a[i - base + 1] = a[i - base] + 1;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(2) schedule(dynamic)
            for (unsigned long long i = 1; i <= 20; i++)
                for (int j = 0; j < 20; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                    unsigned up = i > 1 ? b[i - 2][j] : 1, left = j > 0 ? b[i - 1][j - 1] : 1;
                    b[i - 1][j] = (up + left) % 1000003;
#pragma omp ordered depend(source)
                }
#pragma omp for ordered(1) schedule(guided)
            for (unsigned long long i = 1; i <= N; i++) {
#pragma omp ordered depend(sink : i - 1)
                CHECK(i == 1 || a[i - 1] == i - 1 + 1000);
                a[i] += 1000;
#pragma omp ordered depend(source)
            }
        }
        for (int i = 1; i <= N; i++)
            CHECK(a[i] == (unsigned)i + 1000);
        printf("%u %u\n", a[N], b[19][19]);
    }
    return check_end();
}
