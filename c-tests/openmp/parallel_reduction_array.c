/* Reductions over array sections, whole arrays and a pointer's section (OpenMP 5.1, 2.21.5). */
#include "check.h"

int main(void)
{
    enum { N = 3000 };
    int hist[16] = {0}, part[10] = {0};
    long *heap = calloc(50, sizeof *heap);
#pragma omp parallel for reduction(+ : hist) reduction(+ : part[2 : 5]) reduction(+ : heap[10 : 20]) \
    schedule(dynamic, 7)
    for (int i = 0; i < N; i++) {
        hist[i % 16]++;
        part[2 + i % 5] += i;
        heap[10 + i % 20] += 2;
    }
    for (int i = 0; i < 16; i++)
        printf("%d ", hist[i]);
    puts("");
    for (int i = 0; i < 10; i++)
        printf("%d ", part[i]);
    puts("");
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        sum += heap[i];
        CHECK(heap[i] == (i >= 10 && i < 30 ? 2 * (N / 20) : 0));
    }
    printf("%ld\n", sum);
    free(heap);
    return check_end();
}
