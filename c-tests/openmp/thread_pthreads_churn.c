/* Two hundred rounds of pthreads that open a region and end: their teams are given back (libgomp allows this).
   hetmp-test: libs=-lpthread
   hetmp-test: timeout=60 */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>
#include "check.h"

static void *run(void *arg)
{
    int *count = arg;
#pragma omp parallel num_threads(2)
#pragma omp atomic
    (*count)++;
    return NULL;
}

static int threads_now(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

int main(void)
{
    int count = 0, most = 0;
    for (int round = 0; round < 200; round++) {
        pthread_t t[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&t[i], NULL, run, &count);
        for (int i = 0; i < 2; i++)
            pthread_join(t[i], NULL);
        int now = threads_now();
        most = now > most ? now : most;
    }
    printf("%d\n", count);
    /* The threads of ended masters must not pile up: libgomp ends them soon after. */
    CHECK(most < 100);
    return check_end();
}
