/* critical, atomic fallback and locks exclude across the teams of different pthreads.
   hetmp-test: libs=-lpthread */
#include <pthread.h>
#include "check.h"

static long count;
static long double big;
static omp_lock_t lock;
static long locked;

static void *run(void *arg)
{
    (void)arg;
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 1000; i++) {
#pragma omp critical
        count++;
#pragma omp atomic
        big += 1;
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    omp_init_lock(&lock);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("%ld %.0Lf %ld\n", count, big, locked);
    omp_destroy_lock(&lock);
    return check_end();
}
