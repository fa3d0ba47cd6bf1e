/* ordered threads and ordered simd regions in one loop nest (OpenMP 5.1, 2.19.9). */
#include "check.h"

int main(void)
{
    int a[200], next = 0, s = 0;
#pragma omp parallel for simd ordered num_threads(4) schedule(dynamic, 4)
    for (int i = 0; i < 200; i++) {
        a[i] = i * 3;
#pragma omp ordered threads simd
        {
            CHECK(next == i);
            next++;
        }
    }
#pragma omp parallel for simd num_threads(3) reduction(+ : s)
    for (int i = 0; i < 200; i++) {
#pragma omp ordered simd
        s += a[i];
    }
    printf("%d %d\n", next, s);
    return check_end();
}
