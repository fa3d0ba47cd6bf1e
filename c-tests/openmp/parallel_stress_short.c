/* A million short regions on two threads: none lost, none doubled (stress of fork and join; OpenMP 5.1, 2.6).
   hetmp-test: threads=2
   hetmp-test: timeout=240 */
#include "check.h"

int main(void)
{
    static long counts[2][16];
    for (long i = 0; i < 1000000; i++) {
#pragma omp parallel num_threads(2)
        counts[omp_get_thread_num()][0]++;
        if (counts[0][0] != i + 1 || counts[1][0] != i + 1) {
            CHECK(!"a thread missed a region");
            break;
        }
    }
    printf("%ld %ld\n", counts[0][0], counts[1][0]);
    return check_end();
}
