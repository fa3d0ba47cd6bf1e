/* What the runtime hands out to the threads of all nodes: loops of every schedule, sections, single with copyprivate,
   locks. Every iteration is counted, and the output does not depend on who took which. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { N = 3000 };

static unsigned char seen[N];
static long sum;

static void check(const char *what)
{
    long bad = 0;
    for (int i = 0; i < N; i++)
        bad += seen[i] != 1;
    printf("%s: %ld not once, sum %ld\n", what, bad, sum);
    memset(seen, 0, sizeof seen);
    sum = 0;
}

static int own;
#pragma omp threadprivate(own)

int main(void)
{
    omp_set_num_threads(4);
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < N; i++)
        seen[i]++, sum += i;
    check("dynamic");
#pragma omp parallel for schedule(dynamic, 17) reduction(+ : sum)
    for (long i = N - 1; i >= 0; i--)
        seen[i]++, sum += i;
    check("dynamic down");
#pragma omp parallel for schedule(guided, 3) reduction(+ : sum)
    for (unsigned long long i = 0; i < N; i++)
        seen[i]++, sum += (long)i;
    check("guided unsigned");
#pragma omp parallel for schedule(monotonic : dynamic, 5) reduction(+ : sum)
    for (int i = 0; i < N; i++)
        seen[i]++, sum += i;
    check("monotonic");
    for (int kind = 1; kind <= 4; kind++) {
        omp_set_schedule((omp_sched_t)kind, kind == 4 ? 0 : 9);
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
        for (int i = 0; i < N; i++)
            seen[i]++, sum += i;
        check("runtime");
    }
    /* Many loops in one region, some of them without a barrier at their ends; and a lastprivate variable. */
    int last = -1;
#pragma omp parallel
    {
        for (int round = 0; round < 40; round++) {
#pragma omp for schedule(dynamic, 4) nowait
            for (int i = round; i < N; i += 40) {
                seen[i]++;
#pragma omp atomic
                sum += i;
            }
        }
#pragma omp barrier
#pragma omp for schedule(guided) lastprivate(last)
        for (int i = 0; i < 77; i++)
            last = i;
    }
    check("many");
    printf("last %d\n", last);

    int done[6] = {0};
#pragma omp parallel sections
    {
#pragma omp section
        done[0]++;
#pragma omp section
        done[1]++;
#pragma omp section
        done[2]++;
    }
#pragma omp parallel
    {
#pragma omp sections
        {
#pragma omp section
            done[3]++;
#pragma omp section
            done[4]++;
        }
#pragma omp sections nowait
        {
#pragma omp section
            done[5]++;
        }
    }
    for (int i = 0; i < 6; i++)
        printf("%d ", done[i]);
    printf("sections\n");

    int copied = 0;
#pragma omp parallel reduction(+ : copied)
    for (int round = 1; round <= 30; round++) {
        int mine;
        double big[40];
#pragma omp single copyprivate(mine, own, big)
        {
            mine = round;
            own = 2 * round;
            for (int i = 0; i < 40; i++)
                big[i] = round + i;
        }
        copied += mine + own + (int)big[39] - 39 == 4 * round;
    }
    printf("copied %d\n", copied);

    omp_lock_t lock;
    omp_init_lock(&lock);
    long held = 0, tried = 0;
#pragma omp parallel
    for (int i = 0; i < 60; i++) {
        omp_set_lock(&lock);
        held++;
        omp_unset_lock(&lock);
        while (!omp_test_lock(&lock))
            ;
        tried++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    printf("held %ld tried %ld\n", held, tried);

    int levels = 0, threads = 0;
#pragma omp parallel reduction(+ : levels, threads)
    {
        levels += omp_get_level() + omp_in_parallel() + omp_get_active_level();
        threads += omp_get_max_threads() == 4;
    }
    printf("levels %d threads %d\n", levels, threads);
    return 0;
}
