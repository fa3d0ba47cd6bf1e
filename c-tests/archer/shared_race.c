/* Both threads add to one variable without any order. They wait for each other first, so that neither begins when the
   other has ended; the waiting is relaxed and orders nothing. They add often: the detector keeps its records without a
   lock, and misses two accesses at the very same time. */
#include <stdio.h>
enum { OFTEN = 1000 };
int main(void) {
    int sum = 0, begun = 0;
    #pragma omp parallel num_threads(2)
    {
        __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2);
        for (int i = 0; i < OFTEN; i++) {
            sum++;
            __asm__ volatile("" ::: "memory");
        }
    }
    printf("done\n");
    return sum < 1;
}
