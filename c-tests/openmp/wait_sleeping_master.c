/* Threads that wait long at a barrier, a lock, an ordered region and a doacross sink are woken (parking).
   hetmp-test: timeout=30 */
#include <unistd.h>
#include "check.h"

int main(void)
{
    int a = 0, order = 0, wave[8] = {0};
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
    for (int round = 0; round < 3; round++) {
#pragma omp master
        usleep(20000);
#pragma omp barrier
#pragma omp single
        {
            usleep(20000);
            a++;
        }
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 4; i++) {
            if (i == 0)
                usleep(20000);
#pragma omp ordered
            order++;
        }
#pragma omp for ordered(1) schedule(static, 1)
        for (int i = 0; i < 8; i++) {
            if (i == 0)
                usleep(20000);
#pragma omp ordered depend(sink : i - 1)
            wave[i] = (i ? wave[i - 1] : round) + 1;
#pragma omp ordered depend(source)
        }
        omp_set_lock(&lock);
        usleep(3000);
        omp_unset_lock(&lock);
#pragma omp critical
        usleep(3000);
    }
    omp_destroy_lock(&lock);
    printf("%d %d %d\n", a, order, wave[7]);
    return check_end();
}
