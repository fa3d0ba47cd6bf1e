/* Very uneven iterations: dynamic and guided still run each once (OpenMP 5.1, 2.11.4). */
#include "loop_check.h"

static unsigned spin(unsigned n)
{
    unsigned x = n;
    for (unsigned i = 0; i < n; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}

int main(void)
{
    unsigned a = 0, b = 0;
#pragma omp parallel num_threads(4) reduction(^ : a, b)
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 400; i++) {
            a ^= spin(i % 50 == 0 ? 200000 : 50 + i);
            loop_hit(i);
        }
#pragma omp for schedule(guided, 2)
        for (int i = 0; i < 400; i++) {
            b ^= spin(i < 8 ? 200000 : 50 + i);
            loop_hit(i);
        }
    }
    LOOP_EXPECT(400, 2);
    printf("%u %u\n", a, b);
    return check_end();
}
