/* One thread makes all tasks while it works itself; all get done, at every team size (OpenMP 5.1, 2.12.1). */
#include "check.h"

static unsigned spin(unsigned n)
{
    unsigned x = n;
    for (unsigned i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        unsigned sum = 0;
#pragma omp parallel num_threads(n)
        {
            if (omp_get_thread_num() == n - 1)
                for (unsigned i = 0; i < 300; i++) {
#pragma omp task shared(sum)
                    {
                        unsigned v = spin(i * 13 % 3000);
#pragma omp atomic
                        sum += v;
                    }
                }
        }
        printf("%u\n", sum);
    }
    return check_end();
}
