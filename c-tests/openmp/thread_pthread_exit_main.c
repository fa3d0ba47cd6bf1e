/* The main thread leaves by pthread_exit after regions; another thread goes on with regions and ends the process.
   hetmp-test: libs=-lpthread
   hetmp-test: timeout=20 */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

static int regions(void)
{
    int n = 0;
    for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads(3) reduction(+ : n)
        n++;
    }
    return n;
}

static void *run(void *arg)
{
    (void)arg;
    usleep(5000);
    printf("late %d\n", regions());
    exit(check_end());
}

int main(void)
{
    printf("main %d\n", regions());
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    pthread_exit(NULL);
}
