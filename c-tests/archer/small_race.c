/* One thread makes two small tasks that update one variable. Each depends on a variable of its own, so that nothing
   orders the two. Each takes less time than another thread needs to wake up: the detector sees the race only where the
   runtime leaves one of the tasks to another thread. */
#include <stdio.h>
enum { REGIONS = 20 };
int main(void) {
    int a = 0, b = 0, sum = 0;
    for (int r = 0; r < REGIONS; r++) {
        #pragma omp parallel num_threads(2)
        #pragma omp single
        {
            #pragma omp task depend(inout: a) shared(a, sum)
            sum += ++a;
            #pragma omp task depend(inout: b) shared(b, sum)
            sum += ++b;
        }
    }
    printf("%d %d\n", a, b);
    return sum < 0;
}
