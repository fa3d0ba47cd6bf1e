/* Iterations wait for one another through a condition variable: the last half for the first, the first for the last
   one. Right on any team that has a thread for each waiting chunk.
   hetmp-test: threads=2
   hetmp-test: timeout=40 */
#include "loop_check.h"
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int told[2];

static void tell(int i)
{
    pthread_mutex_lock(&mutex);
    told[i] = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
}

static void hear(int i)
{
    pthread_mutex_lock(&mutex);
    while (!told[i])
        pthread_cond_wait(&cond, &mutex);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    int sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 2; i++) {
        tell(i);
        hear(1 - i);
        sum += i + 1;
    }
    printf("%d\n", sum);
    return check_end();
}
