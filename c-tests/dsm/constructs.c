/* What crosses nodes: globals, heap, variables of a stack by reference, reductions, atomics, critical sections with and
   without a name, single, barriers, threadprivate with copyin; and regions that stay at the origin (a dynamic loop,
   printf). The output does not depend on where anything ran. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 20000, THREADS = 4 };

static long table[N];
static long hits, named, singles;
static int own;
#pragma omp threadprivate(own)

int main(void)
{
    long *heap = malloc(N * sizeof *heap), sum = 0, local[THREADS] = {0};
    double product = 1, real = 0;
    omp_set_num_threads(THREADS);

#pragma omp parallel for
    for (int i = 0; i < N; i++) {
        table[i] = i;
        heap[i] = 2 * i;
    }
#pragma omp parallel for reduction(+ : sum, real) reduction(* : product)
    for (int i = 0; i < N; i++) {
        sum += table[i] + heap[i];
        real += 0.5;
        if (i < 10)
            product *= 2;
    }
    printf("sum %ld real %.1f product %.0f\n", sum, real, product);

    own = 7;
#pragma omp parallel copyin(own)
    {
        int t = omp_get_thread_num();
        own += t;
        for (int i = 0; i < 50; i++) {
#pragma omp critical
            hits++;
#pragma omp critical(other)
            named += 2;
#pragma omp atomic
            local[(t + 1) % THREADS] += t;
        }
#pragma omp barrier
#pragma omp single
        singles++;
#pragma omp single nowait
        singles++;
#pragma omp barrier
        local[t] += 1000 * own + singles;
    }
    printf("hits %ld named %ld singles %ld\n", hits, named, singles);
    for (int t = 0; t < THREADS; t++)
        printf("thread %d: %ld\n", t, local[t]);

    long dynamic = 0;
#pragma omp parallel for schedule(dynamic, 7) reduction(+ : dynamic)
    for (int i = 0; i < N; i++)
        dynamic += table[i];
    printf("dynamic %ld\n", dynamic);
#pragma omp parallel
#pragma omp critical
    printf("line\n");

    /* Blocks that a region's threads allocated, used and freed elsewhere. */
    char *text[THREADS];
#pragma omp parallel
    {
        char *mine = malloc(6000);
        memset(mine, 'a' + omp_get_thread_num(), 5999);
        mine[5999] = 0;
        text[omp_get_thread_num()] = mine;
    }
    for (int t = 0; t < THREADS; t++) {
        printf("%c %zu\n", text[t][5998], strlen(text[t]));
        free(text[t]);
    }
    free(heap);
    return 0;
}
