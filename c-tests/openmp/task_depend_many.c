/* Tasks with more than sixteen dependences each, and repeated items in one list (OpenMP 5.1, 2.19.11). */
#include "check.h"

int main(void)
{
    int a[24] = {0};
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 1; i <= 100; i++) {
#pragma omp task shared(a) depend(inout : a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11]) \
    depend(out : a[12], a[13], a[14], a[15], a[16], a[17]) depend(in : a[18], a[19], a[20], a[21], a[22], a[23])
        for (int k = 0; k < 18; k++) {
            CHECK(a[k] == i - 1);
            a[k] = i;
        }
        /* The same object as in and out in one task must not make it wait for itself. */
#pragma omp task shared(a) depend(in : a[3]) depend(out : a[3]) depend(in : a[3])
        CHECK(a[3] == i);
    }
    int sum = 0;
    for (int k = 0; k < 24; k++)
        sum += a[k];
    printf("%d\n", sum);
    return check_end();
}
