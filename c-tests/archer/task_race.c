/* Two tasks without dependences write one variable. They wait for each other, so that two threads execute them; the
   waiting is relaxed and orders nothing. */
#include <stdio.h>
int main(void) {
    int x = 0, begun = 0;
    #pragma omp parallel num_threads(2)
    #pragma omp single
    for (int i = 0; i < 2; i++) {
        #pragma omp task shared(x, begun)
        {
            __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
            while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 2);
            x = i;
        }
    }
    printf("done\n");
    return x > 1;
}
