/* A thread that uses more stack than it has. */
#include <pthread.h>
#include <stdio.h>

static long deeper(volatile char *above)
{
    volatile char here[4096];
    here[0] = above ? above[0] : 0;
    return deeper(here) + here[0];
}

static void *thread(void *unused)
{
    (void)unused;
    printf("%ld\n", deeper(0));
    return 0;
}

int main(void)
{
    long sum = 0;
    pthread_t id;
    pthread_attr_t small;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 20);
    pthread_create(&id, &small, thread, 0);
    pthread_join(id, 0);
    return sum != 4950;
}
