/* A loop whose iterations the runtime hands out, on nodes that have two kinds of cores each. Standard error says how
   many iterations each thread had. */
#include <omp.h>
#include <stdio.h>

enum { N = 400, THREADS = 4, LINE = 4096 / sizeof(int) };

static double result[N];
/* A page for each thread. */
static int had[THREADS][LINE] __attribute__((aligned(4096)));

int main(void)
{
    double sum = 0;
#pragma omp parallel for schedule(dynamic) num_threads(THREADS)
    for (int i = 0; i < N; i++) {
        double x = i * 1e-3;
        for (int k = 0; k < 200000; k++)
            x = x * 0.5 + 1 / (1 + x * x);
        result[i] = x;
        had[omp_get_thread_num()][0]++;
    }
    for (int i = 0; i < N; i++)
        sum += result[i];
    fprintf(stderr, "had");
    for (int i = 0; i < THREADS; i++)
        fprintf(stderr, " %d", had[i][0]);
    fprintf(stderr, "\n");
    printf("%.9f\n", sum);
    return 0;
}
