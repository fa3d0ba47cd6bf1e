/* The second loop reads what the first one writes, and the barrier between them is left out. The threads wait for each
   other first, so that neither begins when the other has ended; the waiting is relaxed and orders nothing. */
#include <stdio.h>
enum { N = 4096 };
int main(void) {
    int a[N], b[N], begun = 0;
    #pragma omp parallel num_threads(2)
    {
        __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2);
        #pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++) a[i] = i;
        #pragma omp for schedule(static)
        for (int i = 0; i < N; i++) b[i] = a[N - 1 - i];
    }
    printf("done\n");
    return b[0] == -1;
}
