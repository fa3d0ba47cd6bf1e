/* What is written before a barrier is seen after it by all threads (OpenMP 5.1, 2.19.2). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 9; n += 2) {
        int slot[2][9] = {{0}};
        long sum = 0;
#pragma omp parallel num_threads(n) reduction(+ : sum)
        {
            int me = omp_get_thread_num();
            for (int phase = 1; phase <= 800; phase++) {
                int *now = slot[phase & 1];
                now[me] = phase * (me + 1);
#pragma omp barrier
                int other = (me + phase) % n;
                CHECK(now[other] == phase * (other + 1));
                sum += now[other];
            }
        }
        printf("%ld\n", sum);
    }
    return check_end();
}
