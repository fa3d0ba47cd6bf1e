/* Ordered loops on all nodes: every schedule, iterations without an ordered region, loops without a barrier at their
   ends. The ordered regions write down the iterations as they come, and the output says where they came out of order.
   */
#include <omp.h>
#include <stdio.h>

enum { N = 240 };

static int order[N], count;

static void check(const char *what, int first, int step, int expected)
{
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += order[i] != first + i * step;
    printf("%s: %d of %d, %d out of order\n", what, count, expected, wrong);
    count = 0;
}

#define QUOTE(x) #x
#define PRAGMA(x) _Pragma(QUOTE(x))
#define ORDERED(name, ...)                                        \
    PRAGMA(omp parallel for ordered num_threads(5) __VA_ARGS__)   \
    for (int i = 0; i < N; i++) {                                 \
        _Pragma("omp ordered")                                    \
        order[count++] = i;                                       \
    }                                                             \
    check(name, 0, 1, N);

int main(void)
{
    ORDERED("static", schedule(static))
    ORDERED("static, 7", schedule(static, 7))
    ORDERED("dynamic", schedule(dynamic))
    ORDERED("dynamic, 11", schedule(dynamic, 11))
    ORDERED("guided", schedule(guided))
    omp_set_schedule(omp_sched_dynamic, 3);
    ORDERED("runtime", schedule(runtime))
    /* Downwards, with a variable of 64 bits, and every third iteration without an ordered region. */
#pragma omp parallel for ordered schedule(dynamic, 2) num_threads(4)
    for (unsigned long long i = N; i > 0; i--)
        if (i % 3) {
#pragma omp ordered
            order[count++] = i % 3 == 2 ? (int)i / 3 * 2 + 2 : (int)i / 3 * 2 + 1;
        }
    check("some", N / 3 * 2, -1, N / 3 * 2);
    /* One loop after the other: the turns of one are not those of the next. */
    int sum = 0;
#pragma omp parallel num_threads(4)
    {
        for (int round = 0; round < 4; round++) {
#pragma omp for ordered schedule(dynamic, 5) nowait
            for (int i = 0; i < N / 4; i++) {
#pragma omp ordered
                {
#pragma omp atomic
                    sum += i;
                }
            }
        }
#pragma omp barrier
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < N; i++) {
            int work = 0;
            for (int k = 0; k < (i * 37) % 500; k++)
                work += k;
#pragma omp ordered
            order[count++] = i + 0 * work;
        }
    }
    check("after others", 0, 1, N);
    printf("sum %d\n", sum);
    return 0;
}
