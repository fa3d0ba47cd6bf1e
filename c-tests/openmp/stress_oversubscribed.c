/* Sixteen threads on few cores in short regions with barriers: slow is allowed, stuck is not (oversubscription).
   hetmp-test: timeout=120 */
#include "check.h"

int main(void)
{
    long n = 0;
    for (int i = 0; i < 40; i++) {
#pragma omp parallel num_threads(16) reduction(+ : n)
        for (int k = 0; k < 5; k++) {
#pragma omp barrier
            n++;
        }
    }
    printf("%ld\n", n);
    return check_end();
}
