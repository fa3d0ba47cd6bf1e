/* Loops whose iterations wait for others, on all nodes: every schedule, one and two dimensions, 64-bit variables, one
   loop after the other without a barrier. */
#include <omp.h>
#include <stdio.h>

enum { N = 24, M = 6 };

static long a[N + 1], wave[N][M];

static void check(const char *what)
{
    long wrong = 0;
    for (int i = 0; i <= N; i++) {
        wrong += a[i] != i;
        a[i] = 0;
    }
    printf("%s: %ld wrong\n", what, wrong);
}

#define QUOTE(x) #x
#define PRAGMA(x) _Pragma(QUOTE(x))
#define CHAIN(name, ...)                                                        \
    PRAGMA(omp parallel for ordered(1) num_threads(4) __VA_ARGS__)              \
    for (int i = 0; i < N; i++) {                                               \
        _Pragma("omp ordered depend(sink : i - 1) depend(sink : i - 3)")        \
        a[i + 1] = a[i] + 1 + (i >= 3 && a[i - 2] != i - 2 ? 100 : 0);          \
        _Pragma("omp ordered depend(source)")                                   \
    }                                                                           \
    check(name);

int main(void)
{
    CHAIN("static", schedule(static))
    CHAIN("static, 3", schedule(static, 3))
    CHAIN("dynamic", schedule(dynamic))
    CHAIN("dynamic, 4", schedule(dynamic, 4))
    CHAIN("guided", schedule(guided))
    omp_set_schedule(omp_sched_dynamic, 2);
    CHAIN("runtime", schedule(runtime))
#pragma omp parallel for ordered(1) schedule(dynamic) num_threads(4)
    for (unsigned long long i = 1; i <= N; i++) {
#pragma omp ordered depend(sink : i - 1)
        a[i] = a[i - 1] + 1;
#pragma omp ordered depend(source)
    }
    check("64 bits");
    /* Each point needs the one above and the one to the left. */
    for (int round = 0; round < 2; round++) {
#pragma omp parallel num_threads(4)
        {
#pragma omp for ordered(2) schedule(static, 1) nowait
            for (int i = 0; i < N; i++)
                for (int j = 0; j < M; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                    wave[i][j] = 1 + (i ? wave[i - 1][j] : 0) % 1000 + (j ? wave[i][j - 1] : 0) % 1000;
#pragma omp ordered depend(source)
                }
#pragma omp for ordered(1) schedule(dynamic, 5)
            for (int i = 0; i < N; i++) {
#pragma omp ordered depend(sink : i - 1)
                a[i + 1] = a[i] + 1;
#pragma omp ordered depend(source)
            }
        }
        check("second loop");
        long sum = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < M; j++)
                sum += wave[i][j] * (i + 2 * j + 1);
        printf("wave %ld\n", sum);
    }
    return 0;
}
