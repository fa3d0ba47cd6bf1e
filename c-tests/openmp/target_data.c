/* target data, update, enter data and exit data with host memory (OpenMP 5.1, 2.14.2-4, 2.14.6). */
#include "check.h"

int main(void)
{
    int a[100], b[100], *heap = malloc(50 * sizeof *heap);
    for (int i = 0; i < 100; i++) {
        a[i] = i;
        b[i] = 0;
    }
    for (int i = 0; i < 50; i++)
        heap[i] = 1;
#pragma omp target data map(to : a) map(from : b)
    {
#pragma omp target
        for (int i = 0; i < 100; i++)
            b[i] = a[i] * 2;
#pragma omp target update from(b[0 : 50])
        CHECK(b[10] == 20);
        a[3] = 1000;
#pragma omp target update to(a)
#pragma omp target
        b[3] = a[3];
    }
    CHECK(b[3] == 1000 && b[99] == 198);
#pragma omp target enter data map(to : heap[0 : 50])
#pragma omp target map(tofrom : heap[0 : 50])
    for (int i = 0; i < 50; i++)
        heap[i] += i;
#pragma omp target update from(heap[0 : 50]) if (1)
#pragma omp target exit data map(from : heap[0 : 50])
    int sum = 0;
    for (int i = 0; i < 50; i++)
        sum += heap[i];
#pragma omp target data map(tofrom : sum) use_device_ptr(heap) if (0)
#pragma omp target map(tofrom : sum) is_device_ptr(heap)
    sum += heap[0];
#pragma omp target data use_device_addr(a) map(tofrom : a)
#pragma omp target has_device_addr(a)
    a[0] = -1;
    printf("%d %d\n", sum, a[0]);
    free(heap);
    return check_end();
}
