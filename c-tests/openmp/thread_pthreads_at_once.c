/* A hundred pthreads open their first regions at the same moment, each with a team of its own, and end again: twice, so
   that the second hundred meets what the first one left behind.
   hetmp-test: libs=-lpthread */
#include <pthread.h>
#include "check.h"

enum { OPENERS = 100, REGIONS = 5 };

static pthread_barrier_t all_begin;

static void *run(void *arg)
{
    long id = (long)arg, sum = 0;
    pthread_barrier_wait(&all_begin);
    for (int round = 0; round < REGIONS; round++) {
        int met[2] = {0};
#pragma omp parallel num_threads(2) reduction(+ : sum)
        {
            CHECK(omp_get_num_threads() == 2 && omp_get_level() == 1);
            met[omp_get_thread_num()]++;
#pragma omp barrier
            CHECK(met[0] == 1 && met[1] == 1);
            sum += id;
        }
    }
    CHECK(omp_get_level() == 0 && omp_get_num_threads() == 1);
    return (void *)sum;
}

int main(void)
{
    for (int wave = 0; wave < 2; wave++) {
        pthread_t opener[OPENERS];
        long all = 0;
        pthread_barrier_init(&all_begin, NULL, OPENERS);
        for (long i = 0; i < OPENERS; i++)
            CHECK(pthread_create(&opener[i], NULL, run, (void *)i) == 0);
        for (int i = 0; i < OPENERS; i++) {
            void *sum;
            pthread_join(opener[i], &sum);
            all += (long)sum;
        }
        pthread_barrier_destroy(&all_begin);
        printf("%ld\n", all);
    }
    return check_end();
}
