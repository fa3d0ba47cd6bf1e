/* Loop variables of char, short, unsigned and pointer type (OpenMP 5.1, 2.11.1). */
#include "loop_check.h"

int main(void)
{
    char buffer[100];
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic)
        for (signed char i = -50; i < 50; i++)
            loop_hit(i + 50);
#pragma omp for schedule(dynamic, 3)
        for (unsigned short i = 65435; i < 65535; i++)
            loop_hit(i - 65435);
#pragma omp for schedule(guided)
        for (unsigned i = 4294967195u; i < 4294967295u; i++)
            loop_hit(i - 4294967195u);
#pragma omp for schedule(dynamic, 2)
        for (char *p = buffer; p < buffer + 100; p++)
            loop_hit(p - buffer);
#pragma omp for schedule(static, 3)
        for (char *p = buffer + 99; p >= buffer; p -= 1)
            loop_hit(p - buffer);
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i != 100; i++)
            loop_hit(i);
    }
    LOOP_EXPECT(100, 6);
    return check_end();
}
