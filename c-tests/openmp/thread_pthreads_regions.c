/* Eight pthreads open regions at the same time, each with a team of its own (libgomp allows this).
   hetmp-test: libs=-lpthread */
#include <pthread.h>
#include "check.h"

static void *run(void *arg)
{
    long id = (long)arg, total = 0;
    for (int round = 0; round < 30; round++) {
        int slot[3] = {0};
        long sum = 0;
        CHECK(omp_get_level() == 0);
#pragma omp parallel num_threads(3) reduction(+ : sum)
        {
            CHECK(omp_get_num_threads() == 3 && omp_get_level() == 1);
            slot[omp_get_thread_num()]++;
#pragma omp for schedule(dynamic, 4)
            for (int i = 0; i < 200; i++)
                sum += i * id;
#pragma omp critical
            total++;
        }
        for (int i = 0; i < 3; i++)
            CHECK(slot[i] == 1);
        CHECK(sum == 19900 * id);
    }
    return (void *)total;
}

int main(void)
{
    pthread_t t[8];
    long all = 0;
    for (long i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, run, (void *)i);
    for (int i = 0; i < 8; i++) {
        void *r;
        pthread_join(t[i], &r);
        all += (long)r;
    }
    printf("%ld\n", all);
    return check_end();
}
