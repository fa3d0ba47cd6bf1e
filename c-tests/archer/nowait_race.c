/* The second loop reads what the first one writes, and the barrier between them is left out. */
#include <stdio.h>
enum { N = 64 };
int main(void) {
    int a[N], b[N];
    #pragma omp parallel num_threads(2)
    {
        #pragma omp for schedule(static) nowait
        for (int i = 0; i < N; i++) a[i] = i;
        #pragma omp for schedule(static)
        for (int i = 0; i < N; i++) b[i] = a[N - 1 - i];
    }
    printf("done\n");
    return b[0] == -1;
}
