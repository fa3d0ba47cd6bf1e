/* Reductions and lastprivate over teams distribute (OpenMP 5.1, 2.16). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 5; n++) {
        long sum = 3;
        int top = -1, last = -1;
#pragma omp teams distribute parallel for num_teams(n) num_threads(2) reduction(+ : sum) reduction(max : top) \
    lastprivate(last)
        for (int i = 0; i < 777; i++) {
            sum += i;
            if ((i * 31) % 778 > top)
                top = (i * 31) % 778;
            last = i;
        }
        printf("%ld %d %d\n", sum, top, last);
    }
    return check_end();
}
