/* The first region of the process is opened by a pthread, the main thread's comes later.
   hetmp-test: libs=-lpthread */
#include <pthread.h>
#include "check.h"

static void *run(void *arg)
{
    int *n = arg;
#pragma omp parallel num_threads(4)
#pragma omp atomic
    (*n)++;
    return NULL;
}

int main(void)
{
    int a = 0, b = 0, c = 0;
    pthread_t t;
    pthread_create(&t, NULL, run, &a);
    pthread_join(t, NULL);
    run(&b);
    pthread_create(&t, NULL, run, &c);
    run(&b);
    pthread_join(t, NULL);
    printf("%d %d %d\n", a, b, c);
    return check_end();
}
