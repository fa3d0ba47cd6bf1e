/* One thread makes small tasks that update one variable, as in small_race.c, but both depend on it. */
#include <stdio.h>
enum { REGIONS = 20 };
int main(void) {
    int a = 0, b = 0, sum = 0;
    for (int r = 0; r < REGIONS; r++) {
        #pragma omp parallel num_threads(2)
        #pragma omp single
        {
            #pragma omp task depend(inout: a, sum) shared(a, sum)
            sum += ++a;
            #pragma omp task depend(inout: b, sum) shared(b, sum)
            sum += ++b;
        }
    }
    printf("%d %d %d\n", a, b, sum);
    return sum != REGIONS * (REGIONS + 1);
}
