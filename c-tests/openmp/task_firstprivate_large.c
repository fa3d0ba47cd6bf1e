/* Large, aligned firstprivate data is copied when the task is created (OpenMP 5.1, 2.21.4.4). */
#include <stdint.h>
#include "check.h"

struct wide {
    int v[500];
} __attribute__((aligned(128)));

int main(void)
{
    long sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    {
        struct wide w;
        for (int i = 0; i < 500; i++) {
            for (int k = 0; k < 500; k++)
                w.v[k] = i + k;
#pragma omp task firstprivate(w) shared(sum)
            {
                CHECK((uintptr_t)&w % 128 == 0);
                for (int k = 0; k < 500; k++)
                    CHECK(w.v[k] == i + k);
#pragma omp atomic
                sum += w.v[499];
            }
        }
    }
    printf("%ld\n", sum);
    return check_end();
}
