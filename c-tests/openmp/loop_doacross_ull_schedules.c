/* Doacross over unsigned long long bounds that do not fit a long, in every schedule (OpenMP 5.1, 2.19.9). */
#include "check.h"

enum { N = 40 };
static int a[N + 1];

#define RUN(...)                                                               \
    do {                                                                       \
        memset(a, 0, sizeof a);                                                \
        _Pragma("omp parallel num_threads(n)")                                 \
        {                                                                      \
            LOOP(__VA_ARGS__)                                                  \
            for (unsigned long long i = base; i < base + N; i++) {             \
                _Pragma("omp ordered depend(sink : i - 1)")                    \
                a[i - base + 1] = a[i - base] + 1;                             \
                _Pragma("omp ordered depend(source)")                          \
            }                                                                  \
        }                                                                      \
        for (int i = 0; i <= N; i++)                                           \
            CHECK(a[i] == i);                                                  \
    } while (0)
#define TEXT(x) _Pragma(#x)
#define LOOP(...) TEXT(omp for ordered(1) schedule(__VA_ARGS__))

int main(void)
{
    volatile unsigned long long hidden = (1ull << 63) - 50;
    unsigned long long base = hidden;
    for (int n = 1; n <= 6; n += 2) {
        RUN(static);
        RUN(static, 2);
        RUN(dynamic);
        RUN(guided);
        RUN(runtime);
    }
    return check_end();
}
