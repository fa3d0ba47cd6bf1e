/* Every schedule, type and direction of loop that clang dispatches or divides; lastprivate needs the last chunk
   to be known, ordered and doacross the order. */
#include "../check.h"

#define KINDS(T, FROM, TO, STEP, CMP)                                                           \
    do {                                                                                        \
        unsigned long long sums[7] = { 0 };                                                     \
        T last = 0;                                                                             \
        _Pragma("omp parallel for schedule(static) lastprivate(last) reduction(+:sums)")        \
        for (T i = FROM; i CMP TO; i += STEP) { sums[0] += (unsigned)i; last = i; }             \
        unsigned long long x = (unsigned long long)last;                                        \
        _Pragma("omp parallel for schedule(static, 3) lastprivate(last) reduction(+:sums)")     \
        for (T i = FROM; i CMP TO; i += STEP) { sums[1] += (unsigned)i; last = i; }             \
        CHECK(x == (unsigned long long)last);                                                   \
        _Pragma("omp parallel for schedule(dynamic) lastprivate(last) reduction(+:sums)")       \
        for (T i = FROM; i CMP TO; i += STEP) { sums[2] += (unsigned)i; last = i; }             \
        CHECK(x == (unsigned long long)last);                                                   \
        _Pragma("omp parallel for schedule(monotonic:guided, 2) lastprivate(last) reduction(+:sums)") \
        for (T i = FROM; i CMP TO; i += STEP) { sums[3] += (unsigned)i; last = i; }             \
        CHECK(x == (unsigned long long)last);                                                   \
        _Pragma("omp parallel for schedule(runtime) lastprivate(last) reduction(+:sums)")       \
        for (T i = FROM; i CMP TO; i += STEP) { sums[4] += (unsigned)i; last = i; }             \
        CHECK(x == (unsigned long long)last);                                                   \
        _Pragma("omp parallel for schedule(auto) reduction(+:sums)")                            \
        for (T i = FROM; i CMP TO; i += STEP) sums[5] += (unsigned)i;                           \
        unsigned long long before = 0; int in_order = 1, n = 0;                                 \
        _Pragma("omp parallel for schedule(dynamic, 2) ordered")                                \
        for (T i = FROM; i CMP TO; i += STEP) {                                                 \
            _Pragma("omp ordered")                                                              \
            { if (n && (unsigned long long)i != before + (unsigned long long)(STEP)) in_order = 0; \
              before = (unsigned long long)i; n++; sums[6] += (unsigned)i; }                    \
        }                                                                                       \
        CHECK(in_order);                                                                        \
        for (int k = 1; k < 7; k++) CHECK(sums[k] == sums[0]);                                  \
        printf("%llu %llu\n", sums[0], x);                                                      \
    } while (0)

int main(void)
{
    KINDS(int, -50, 77, 1, <);
    KINDS(int, 100, -23, -3, >);
    KINDS(unsigned, 4294967200u, 4294967290u, 4, <=);
    KINDS(long, -5000000000, -4999999900, 7, <);
    KINDS(unsigned long, 18446744073709551000ul, 18446744073709551600ul, 5, <);
    int grid[20][30] = { { 0 } };
#pragma omp parallel for ordered(2) schedule(dynamic)
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
            grid[i][j] = 1 + (i > 0 ? grid[i - 1][j] : 0) + (j > 0 ? grid[i][j - 1] % 1000 : 0);
            grid[i][j] %= 1000;
#pragma omp ordered depend(source)
        }
    int expected[20][30] = { { 0 } };
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++)
            expected[i][j] = (1 + (i > 0 ? expected[i - 1][j] : 0) + (j > 0 ? expected[i][j - 1] % 1000 : 0)) % 1000;
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++)
            CHECK(grid[i][j] == expected[i][j]);
    int sum = 0;
#pragma omp teams distribute parallel for num_teams(3) thread_limit(2) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
#pragma omp teams distribute dist_schedule(static, 7) num_teams(3) reduction(+ : sum)
    for (int i = 0; i < 1000; i++)
        sum += i;
    printf("%d %d\n", grid[19][29], sum);
    int part = 0, shared = 0;
#pragma omp parallel private(part)
    {
#pragma omp single copyprivate(part)
        part = 42;
        CHECK(part == 42);
#pragma omp sections reduction(+ : shared)
        {
#pragma omp section
            shared += 1;
#pragma omp section
            shared += 10;
#pragma omp section
            shared += 100;
        }
#pragma omp masked filter(0)
        CHECK(omp_get_thread_num() == 0);
    }
    printf("%d\n", shared);
    return check_end();
}
