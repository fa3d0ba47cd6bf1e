/* Threads that keep taking a lock let the others through in the end (liveness; OpenMP 5.1, 3.9).
   hetmp-test: timeout=60 */
#include "check.h"

int main(void)
{
    omp_lock_t lock;
    int waiting = 3;
    long laps = 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
    {
        if (omp_get_thread_num() == 0) {
            int w;
            do {
                omp_set_lock(&lock);
                laps++;
                w = waiting;
                omp_unset_lock(&lock);
            } while (w);
        } else {
            omp_set_lock(&lock);
            waiting--;
            omp_unset_lock(&lock);
        }
    }
    CHECK(laps > 0 && waiting == 0);
    omp_destroy_lock(&lock);
    return check_end();
}
