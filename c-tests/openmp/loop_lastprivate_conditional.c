/* lastprivate(conditional:) keeps the value of the last iteration that assigned it (OpenMP 5.1, 2.21.4.5).
   hetmp-test: flags=-Wno-maybe-uninitialized */
#include "loop_check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int x = -1, y = -1, s = -1, never = 7;
#pragma omp parallel num_threads(n)
        {
#pragma omp for schedule(dynamic, 2) lastprivate(conditional : x)
            for (int i = 0; i < 200; i++)
                if (i % 37 == 5)
                    x = i;
#pragma omp for schedule(static) lastprivate(conditional : y, never)
            for (int i = 0; i < 200; i++) {
                if (i < 61)
                    y = i;
                if (i > 500)
                    never = i;
            }
#pragma omp sections lastprivate(conditional : s)
            {
#pragma omp section
                if (n > 0)
                    s = 10;
#pragma omp section
                if (n > 0)
                    s = 11;
#pragma omp section
                if (n > 100)
                    s = 12;
            }
        }
        printf("%d %d %d %d\n", x, y, s, never);
    }
    int z = -1;
#pragma omp parallel for schedule(guided) lastprivate(conditional : z) num_threads(4)
    for (unsigned long long i = 0; i < 1000; i++)
        if (i % 10 == 3)
            z = (int)i;
    printf("%d\n", z);
    return check_end();
}
