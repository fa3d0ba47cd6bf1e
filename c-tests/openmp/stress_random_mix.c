/* Random mixes of nested regions, tasks, barriers, loops and cancellation, opened by several threads of
   the program at once (stress).
   hetmp-test: timeout=120
   hetmp-test: env=OMP_CANCELLATION=true */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned next(unsigned *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static long done[4];

static void region(unsigned seed, int depth, long *count)
{
    int n = 1 + next(&seed) % 4;
    int what = next(&seed) % 6;
    long in = 0;
#pragma omp parallel num_threads(n) shared(in)
    {
        unsigned mine = seed + (unsigned)omp_get_thread_num() * 7919u;
        switch (what) {
        case 0:
            for (int i = 0; i < 3; i++) {
#pragma omp barrier
#pragma omp atomic
                in++;
            }
            break;
        case 1:
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(in)
#pragma omp atomic
                in++;
            }
#pragma omp barrier
            break;
        case 2:
            if (depth < 2)
                region(next(&mine), depth + 1, count);
            break;
        case 3:
#pragma omp for schedule(guided)
            for (int i = 0; i < 40; i++) {
                if (i == 17) {
#pragma omp cancel for
                }
#pragma omp cancellation point for
#pragma omp atomic
                in++;
            }
            break;
        case 4:
            for (int i = 0; i < 4; i++) {
#pragma omp task shared(in)
                {
#pragma omp atomic
                    in++;
                }
            }
            if (next(&mine) % 3 == 0) {
#pragma omp cancel parallel
            }
#pragma omp barrier
            break;
        default:
#pragma omp single
#pragma omp taskgroup
            for (int i = 0; i < 6; i++) {
#pragma omp task shared(in) firstprivate(i)
                {
                    if (i == 3) {
#pragma omp cancel taskgroup
                    }
#pragma omp atomic
                    in++;
                }
            }
        }
    }
    (*count)++;
}

static void *opener(void *p)
{
    long *count = p;
    unsigned seed = 1 + (unsigned)(count - done);
    for (int i = 0; i < 400; i++)
        region(next(&seed), 0, count);
    return NULL;
}

int main(void)
{
    omp_set_max_active_levels(3);
    pthread_t t[4];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            pthread_create(&t[i], NULL, opener, &done[i]);
        opener(&done[3]);
        for (int i = 0; i < 3; i++)
            pthread_join(t[i], NULL);
    }
    printf("over\n");
    return 0;
}
