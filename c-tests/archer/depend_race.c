/* Two tasks update one variable; their dependences order each of them after its own maker only, and not against each
   other. They wait for each other, so that two threads execute them; the waiting is relaxed and orders nothing. They
   add often: the detector keeps its records without a lock, and misses two accesses at the very same time. */
#include <stdio.h>
enum { OFTEN = 1000 };
int main(void) {
    int a = 0, b = 0, sum = 0, begun = 0;
    #pragma omp parallel num_threads(2)
    #pragma omp single
    {
        #pragma omp task depend(out: a) shared(a)
        a = 1;
        #pragma omp task depend(out: b) shared(b)
        b = 2;
        #pragma omp task depend(in: a) shared(a, sum, begun)
        {
            __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
            while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2);
            for (int i = 0; i < OFTEN; i++) {
                sum += a;
                __asm__ volatile("" ::: "memory");
            }
        }
        #pragma omp task depend(in: b) shared(b, sum, begun)
        {
            __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
            while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2);
            for (int i = 0; i < OFTEN; i++) {
                sum += b;
                __asm__ volatile("" ::: "memory");
            }
        }
    }
    printf("done\n");
    return sum > 3 * OFTEN;
}
