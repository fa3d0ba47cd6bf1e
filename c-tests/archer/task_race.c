/* Two tasks without dependences write one variable. They wait for each other, so that two threads execute them; the
   waiting is relaxed and orders nothing. They write often: the detector keeps its records without a lock, and misses
   two accesses at the very same time. */
#include <stdio.h>
enum { OFTEN = 1000 };
int main(void) {
    int x = 0, begun = 0;
    #pragma omp parallel num_threads(2)
    #pragma omp single
    for (int i = 0; i < 2; i++) {
        #pragma omp task shared(x, begun)
        {
            __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
            while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2);
            for (int n = 0; n < OFTEN; n++) {
                x = i;
                __asm__ volatile("" ::: "memory");
            }
        }
    }
    printf("done\n");
    return x > 1;
}
