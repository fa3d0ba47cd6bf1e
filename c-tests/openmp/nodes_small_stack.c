/* A thread of the program with the least stack there can be opens the first region, on nodes of emulated
   speed: what the runtime measures for these needs room that the thread does not have.
   hetmp-test: only=hetmp
   hetmp-test: env=HETMP_NODES=cores=0;cores=1,speed=0.5
   hetmp-test: env=OMP_SCHEDULE=hetprobe
   hetmp-test: threads=1,2
   hetmp-test: libs=-lpthread */
#include "check.h"
#include <limits.h>
#include <pthread.h>

static void *sum_up(void *result)
{
    int sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
    *(int *)result = sum;
    return NULL;
}

int main(void)
{
    /* Threads that follow find everything measured. */
    for (int kib = 16; kib <= 64; kib += 8) {
        pthread_attr_t attr;
        pthread_t thread;
        int result = 0;
        pthread_attr_init(&attr);
        CHECK(pthread_attr_setstacksize(&attr, (size_t)kib << 10) == 0);
        CHECK(pthread_create(&thread, &attr, sum_up, &result) == 0);
        pthread_join(thread, NULL);
        pthread_attr_destroy(&attr);
        printf("%d %d\n", kib, result);
    }
    return check_end();
}
