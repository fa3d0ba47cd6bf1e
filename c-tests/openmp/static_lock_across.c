/* A lock is held across a barrier by whoever got it, while the others ask for it. */
#include "loop_check.h"

int main(void)
{
    enum { N = 400 };
    static int a[N];
    long order = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
    {
#pragma omp single
        omp_set_lock(&lock);
        /* Barrier of the single: held across it. */
#pragma omp for nowait
        for (int i = 0; i < N; i++)
            a[i] = i;
#pragma omp single
        {
            order += 1;
            omp_unset_lock(&lock);
        }
#pragma omp for
        for (int i = 0; i < N; i++) {
            omp_set_lock(&lock);
            order += a[i];
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
    printf("%ld\n", order);
    return check_end();
}
