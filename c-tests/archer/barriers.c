/* Barriers, the ends of constructs, single with copyprivate, and reductions order all accesses. */
#include <stdio.h>
enum { N = 64 };
int main(void) {
    int a[N], b[N], sum = 0, product = 1;
    for (int turn = 0; turn < 20; turn++) {
        int key = 0;
        #pragma omp parallel num_threads(2) firstprivate(key)
        {
            #pragma omp for schedule(static)
            for (int i = 0; i < N; i++) a[i] = i;
            #pragma omp for schedule(guided)
            for (int i = 0; i < N; i++) b[i] = a[N - 1 - i];
            #pragma omp single copyprivate(key)
            key = b[0];
            #pragma omp barrier
            #pragma omp master
            a[0] = key;
            #pragma omp barrier
            #pragma omp sections reduction(*: product)
            {
                #pragma omp section
                product *= a[0] > 0 ? 1 : 2;
                #pragma omp section
                product *= 1;
            }
        }
        #pragma omp parallel for reduction(+: sum) num_threads(2)
        for (int i = 0; i < N; i++) sum += b[i];
    }
    printf("%d %d\n", sum, product);
    return 0;
}
