/* Threadprivate variables persist from one region to the next: one copy a real thread.
   hetmp-test: way=thread-local */
#include "loop_check.h"

static int mine;
#pragma omp threadprivate(mine)

int main(void)
{
    enum { N = 3000 };
    long sum = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel for
        for (int i = 0; i < N; i++)
            mine++;
    }
#pragma omp parallel reduction(+ : sum)
    sum += mine;
    printf("%ld\n", sum);
    return check_end();
}
