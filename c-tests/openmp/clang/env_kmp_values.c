/* Variables of libomp's own, as its routines show them.
   hetmp-test: env=KMP_BLOCKTIME=7
   hetmp-test: env=KMP_STACKSIZE=384k
   hetmp-test: env=KMP_DEVICE_THREAD_LIMIT=3
   hetmp-test: env=KMP_SETTINGS=off
   hetmp-test: env=KMP_WARNINGS=off
   hetmp-test: env=KMP_DUPLICATE_LIB_OK=TRUE
   hetmp-test: threads=1,2,8 */
#include "../check.h"

int main(void)
{
    int most = 0;
#pragma omp parallel num_threads(8) reduction(max : most)
    most = omp_get_num_threads();
    CHECK(most >= 1 && most <= 3);
    CHECK(kmp_get_blocktime() == 7);
    CHECK(kmp_get_stacksize_s() >= 384 * 1024 && kmp_get_stacksize_s() < 512 * 1024);
    kmp_set_blocktime(11);
    CHECK(kmp_get_blocktime() == 11);
    printf("values\n");
    return check_end();
}
