/* Dependences, taskwait, taskgroup and a taskloop order all accesses. */
#include <stdio.h>
enum { N = 64 };
int main(void) {
    int x = 0, y = 0, z = 0, a[N];
    #pragma omp parallel num_threads(2)
    #pragma omp single
    for (int turn = 0; turn < 20; turn++) {
        #pragma omp task depend(out: x) shared(x)
        x = turn;
        #pragma omp task depend(in: x) depend(out: y) shared(x, y)
        y = x;
        #pragma omp task depend(inout: y) shared(y)
        y++;
        #pragma omp taskwait
        z += y;
        #pragma omp taskgroup
        {
            #pragma omp task shared(z)
            z++;
        }
        #pragma omp taskloop grainsize(8)
        for (int i = 0; i < N; i++) a[i] = z;
        z += a[N - 1] - z;
    }
    printf("%d %d %d\n", x, y, z);
    return 0;
}
