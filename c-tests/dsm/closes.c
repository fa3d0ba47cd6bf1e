/* Regions, threads and locks between a program's own uses of descriptors. With an argument: closes its standard input,
   and stays. */
#include "../openmp/closes.h"
#include <omp.h>
#include <pthread.h>

static long values[20000];
static omp_lock_t lock;

static void *beside(void *sum) {
    for (int i = 0; i < 20000; i++) *(long *)sum += values[i];
    return 0;
}

static void work(const char *step) {
    long sum = 0, count = 0, again = 0;
    pthread_t thread;
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 500)
        for (int i = 0; i < 20000; i++) values[i] += i;
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp for reduction(+ : sum)
        for (int i = 0; i < 20000; i++) sum += values[19999 - i];
    }
    pthread_create(&thread, 0, beside, &again);
    pthread_join(thread, 0);
    printf("%s: %ld %ld %d\n", step, sum, count, again == sum);
}

int main(int argc, char **argv) {
    (void)argv;
    omp_init_lock(&lock);
    if (argc > 1) {
        close(0);
        for (;;) pause();
    }
    use_descriptors(work);
    return 0;
}
