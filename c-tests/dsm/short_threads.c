/* More threads, one after the other and detached ones among them, than there are addresses for stacks: what ended
   threads had is used again. Then what no node may do: each call is refused with a line. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <unistd.h>

static int made, ended;

static void *count(void *p)
{
    __atomic_add_fetch(&ended, 1, __ATOMIC_SEQ_CST);
    if (p)
        pthread_exit(NULL);
    return NULL;
}

static int count_c11(void *p)
{
    count(p);
    return 0;
}

int main(void)
{
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, 100 << 20);
    for (int i = 0; i < 600; i++) {
        pthread_t joined, detached, sized;
        thrd_t c11;
        if (pthread_create(&joined, NULL, count, &made) || pthread_create(&sized, &large, count, NULL) ||
            pthread_create(&detached, NULL, count, NULL) || thrd_create(&c11, count_c11, NULL) != thrd_success) {
            printf("no thread in round %d\n", i);
            return 1;
        }
        made += 4;
        pthread_detach(detached);
        pthread_join(joined, NULL);
        pthread_join(sized, NULL);
        thrd_join(c11, NULL);
    }
    while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < made)
        usleep(1000);
    int sum = 0;
#pragma omp parallel reduction(+ : sum) num_threads(4)
    sum += 1;
    printf("%d threads, sum %d\n", made, sum);
    if (getenv("HETMP_TEST_REFUSALS")) {
        errno = 0;
        int refused = setuid(getuid()) < 0 && errno == EPERM;
        refused += setgid(getgid()) < 0 && errno == EPERM;
        refused += daemon(1, 1) < 0 && errno == ENOSYS;
        printf("%d refused\n", refused);
    }
    return 0;
}
