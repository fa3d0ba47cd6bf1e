/* Pthreads started inside a region open regions of their own at level 0 and are joined inside.
   hetmp-test: libs=-lpthread */
#include <pthread.h>
#include "check.h"

static void *run(void *arg)
{
    int *n = arg;
    CHECK(omp_get_level() == 0 && omp_get_thread_num() == 0);
#pragma omp parallel num_threads(2)
#pragma omp atomic
    (*n)++;
    return NULL;
}

int main(void)
{
    int total = 0;
#pragma omp parallel num_threads(3) reduction(+ : total)
    {
        int mine = 0;
        pthread_t t;
        pthread_create(&t, NULL, run, &mine);
#pragma omp barrier
        pthread_join(t, NULL);
        total += mine;
    }
    printf("%d\n", total);
    return check_end();
}
