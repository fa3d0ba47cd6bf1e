/* KMP_LIBRARY=serial: every region has one thread.
   hetmp-test: env=KMP_LIBRARY=serial
   hetmp-test: threads=1,8 */
#include "../check.h"

int main(void)
{
    int threads = 0;
#pragma omp parallel num_threads(4) reduction(+ : threads)
    threads += omp_get_num_threads();
    printf("%d\n", threads);
    return check_end();
}
