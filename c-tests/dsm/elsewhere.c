/* Regions that may run whole on another node than the origin. Argument "where": says whether they did. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 40000, LAPS = 60 };

static double grid[2][N];
static long words[64], waits;
static int pids[64], numbers[64];

/* Every construct that may have to know which threads the region has. */
static long constructs(int lap)
{
    long sum = 0, counted = 0, ordered = 0;
    int chosen = 0, levels = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(3) reduction(+ : sum)
    {
        int got = 0;
#pragma omp single copyprivate(got)
        got = 1000 + lap;
        sum += got;
#pragma omp for schedule(dynamic, 7) nowait
        for (int i = 0; i < 500; i++)
            sum += i;
#pragma omp for ordered schedule(dynamic, 3)
        for (int i = 0; i < 40; i++) {
#pragma omp ordered
            ordered = ordered * 3 % 1000003 + i;
        }
#pragma omp critical
        counted += omp_get_num_threads();
        /* The lock is another one than the critical's. */
#pragma omp barrier
        omp_set_lock(&lock);
        counted += omp_get_thread_num();
        omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp master
        {
            chosen = omp_get_thread_num() + 1;
            levels = omp_get_level() * 10 + omp_in_parallel();
            for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i)
                {
#pragma omp atomic
                    waits += i;
                }
            }
        }
#pragma omp sections
        {
#pragma omp section
            words[1] += lap;
#pragma omp section
            words[2] += 2 * lap;
        }
#pragma omp for schedule(guided)
        for (int i = 0; i < 64; i++)
            words[i] += i;
    }
    omp_destroy_lock(&lock);
    return sum + 7 * counted + ordered + chosen + levels;
}

/* Combined with the region, and without barriers inside. */
static void step(double (*to)[N], double (*from)[N])
{
#pragma omp parallel for schedule(dynamic, 500)
    for (int i = 0; i < N; i++) {
        double left = (*from)[i ? i - 1 : N - 1], right = (*from)[i + 1 < N ? i + 1 : 0], x = (*from)[i];
        for (int k = 0; k < 20; k++)
            x = 0.25 * (left + 2 * x + right);
        (*to)[i] = x;
    }
}

static void ask(int where)
{
#pragma omp parallel num_threads(4)
    {
        int me = omp_get_thread_num();
        numbers[me] = omp_get_num_threads();
        pids[me] = getpid();
    }
    int pid_count = 1, others = 1;
    for (int t = 0; t < 4; t++) {
        pid_count += t && pids[t] != pids[0];
        others &= pids[t] != getpid();
        if (numbers[t] != 4)
            printf("thread %d: %d threads\n", t, numbers[t]);
    }
    if (where)
        printf("%d process, %s\n", pid_count, others ? "another one" : "this one");
}

int main(int argc, char **argv)
{
    long sum = 0;
    for (int i = 0; i < N; i++)
        grid[0][i] = i * 37 % 101;
    for (int lap = 0; lap < LAPS; lap++) {
        sum += constructs(lap);
        step(&grid[1], &grid[0]);
        step(&grid[0], &grid[1]);
        /* The serial part is the origin's. */
        grid[0][lap] += sum % 7;
    }
    ask(argc > 1 && !strcmp(argv[1], "where"));
    double all = 0;
    for (int i = 0; i < N; i++)
        all += grid[0][i];
    long more = waits;
    for (int i = 0; i < 64; i++)
        more = more * 31 % 1000003 + words[i];
    printf("%ld %ld %.6f\n", sum, more, all);
    return 0;
}
