/* The threads of a region meet at a barrier of the program's own, made of a mutex and a condition variable.
   Its size is the size of the team: the number of threads is stored.
   hetmp-test: way=thread-number */
#include "loop_check.h"
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int arrived, size, generation;

static void meet(void)
{
    pthread_mutex_lock(&mutex);
    int mine = generation;
    if (++arrived == size) {
        arrived = 0;
        generation++;
        pthread_cond_broadcast(&cond);
    } else
        while (mine == generation)
            pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    static int a[1000];
#pragma omp parallel
    {
        size = omp_get_num_threads();
#pragma omp barrier
        for (int step = 0; step < 20; step++) {
#pragma omp for nowait
            for (int i = 0; i < 1000; i++)
                a[i]++;
            meet();
        }
    }
    for (int i = 0; i < 1000; i++)
        CHECK(a[i] == 20);
    return check_end();
}
