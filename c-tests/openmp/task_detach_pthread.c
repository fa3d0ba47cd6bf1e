/* The event is fulfilled by a thread that OpenMP does not know (OpenMP 5.1, 3.5.1).
   hetmp-test: libs=-lpthread */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

static int fulfilled;

static void *outsider(void *arg)
{
    usleep(2000);
    __atomic_store_n(&fulfilled, 1, __ATOMIC_RELEASE);
    omp_fulfill_event((omp_event_handle_t)(unsigned long)arg);
    return NULL;
}

int main(void)
{
    int rounds = 0;
    for (int n = 1; n <= 4; n++)
        for (int i = 0; i < 5; i++) {
            fulfilled = 0;
            pthread_t t;
            int x = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
            {
                omp_event_handle_t ev;
#pragma omp task detach(ev) depend(out : x) shared(x)
                x = 1;
                CHECK(pthread_create(&t, NULL, outsider, (void *)(unsigned long)ev) == 0);
#pragma omp task depend(in : x) shared(x)
                CHECK(x == 1 && __atomic_load_n(&fulfilled, __ATOMIC_ACQUIRE));
#pragma omp taskwait
                CHECK(__atomic_load_n(&fulfilled, __ATOMIC_ACQUIRE));
            }
            pthread_join(t, NULL);
            rounds++;
        }
    printf("%d\n", rounds);
    return check_end();
}
