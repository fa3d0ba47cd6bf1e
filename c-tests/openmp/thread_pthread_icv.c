/* ICVs set by one pthread do not reach another; a new one starts from the environment's (OpenMP 5.1, 2.4).
   hetmp-test: env=OMP_NUM_THREADS=3
   hetmp-test: threads=3
   hetmp-test: libs=-lpthread */
#include <pthread.h>
#include "check.h"

static void *run(void *arg)
{
    int *n = arg;
    *n = omp_get_max_threads();
    omp_set_num_threads(2);
    int size = 0;
#pragma omp parallel reduction(+ : size)
    size++;
    CHECK(size == 2);
    return NULL;
}

int main(void)
{
    int seen = 0, mine = 0;
    pthread_t t;
    omp_set_num_threads(7);
    pthread_create(&t, NULL, run, &seen);
    pthread_join(t, NULL);
#pragma omp parallel reduction(+ : mine)
    mine++;
    printf("%d %d\n", seen, mine);
    return check_end();
}
