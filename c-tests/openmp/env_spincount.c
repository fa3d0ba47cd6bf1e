/* GOMP_SPINCOUNT of zero and of a suffix form: waiting still works (libgomp manual, 3.20).
   hetmp-test: env=GOMP_SPINCOUNT=0 */
#include "check.h"

int main(void)
{
    long n = 0;
#pragma omp parallel num_threads(3)
    for (int i = 0; i < 300; i++) {
#pragma omp barrier
#pragma omp single
        n++;
    }
    printf("%ld\n", n);
    return check_end();
}
