/* Twenty thousand barriers between two threads (stress; OpenMP 5.1, 2.19.2). */
#include "check.h"

int main(void)
{
    static volatile int turn[2][32];
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();
        for (int i = 1; i <= 20000; i++) {
            turn[me][0] = i;
#pragma omp barrier
            int other = turn[1 - me][0];
            if (other != i && other != i + 1) {
                CHECK(!"a thread is more than one barrier ahead");
                exit(1);
            }
        }
    }
    printf("%d %d\n", turn[0][0], turn[1][0]);
    return check_end();
}
