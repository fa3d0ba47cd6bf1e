/* Loops without a schedule clause, of every kind of bounds (OpenMP 5.1, 2.11.4): divided by compiled code.
   hetmp-test: way=virtual-team */
#include "loop_check.h"

enum { N = 1000 };
static int seen[N];

static void expect(int n)
{
    for (int i = 0; i < N; i++) {
        CHECK(seen[i] == (i < n));
        seen[i] = 0;
    }
}

int main(void)
{
    long long sum = 0;
#pragma omp parallel for
    for (int i = 0; i < N; i++)
        seen[i]++;
    expect(N);
#pragma omp parallel for reduction(+ : sum)
    for (int i = N - 1; i >= 0; i -= 3)
        sum += i;
#pragma omp parallel for
    for (unsigned long i = 7; i < 7; i++)
        seen[0]++;
    expect(0);
#pragma omp parallel for
    for (unsigned long long i = 0xfffffffffffffff0ull; i < 0xffffffffffffffffull; i++)
        seen[i - 0xfffffffffffffff0ull]++;
    expect(15);
#pragma omp parallel for collapse(2)
    for (int i = 0; i < 20; i++)
        for (short j = 0; j < 50; j++)
            seen[i * 50 + j]++;
    expect(N);
    int last = -1;
#pragma omp parallel for lastprivate(last)
    for (int i = 0; i < N; i++)
        last = i;
    printf("%lld %d\n", sum, last);
    return check_end();
}
