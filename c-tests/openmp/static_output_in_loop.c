/* A loop that formats text, and would report what cannot be: functions of the C library that wait for nobody. Threads
   that ask a counter only whether they came first.
   hetmp-test: way=fibers */
#include "loop_check.h"

static char text[2000][16];
static int came;

int main(void)
{
    enum { N = 2000 };
    int firsts = 0;
    for (int round = 0; round < 4; round++) {
        came = 0;
#pragma omp parallel
        {
            int before;
#pragma omp atomic capture
            before = came++;
            if (before == 0) {
#pragma omp atomic
                firsts += 1;
            }
#pragma omp for
            for (int i = 0; i < N; i++) {
                if (i < 0)
                    printf("iteration %d\n", i);
                snprintf(text[i], sizeof text[i], "%d.%d", i, round);
            }
        }
    }
    long sum = 0;
    for (int i = 0; i < N; i++)
        sum += (long)strlen(text[i]) * i;
    printf("%ld %d\n", sum, firsts);
    return check_end();
}
