/* Two threads of the program open regions at the same time.
   hetmp-test: libs=-lpthread */
#include "loop_check.h"
#include <pthread.h>

enum { N = 2000, ROUNDS = 60 };
static int a[2][N];

static void *work(void *p)
{
    int who = *(int *)p;
    for (int r = 0; r < ROUNDS; r++) {
#pragma omp parallel
        {
#pragma omp for
            for (int i = 0; i < N; i++)
                a[who][i]++;
#pragma omp for
            for (int i = 0; i < N; i++)
                a[who][N - 1 - i] += 2;
        }
    }
    return 0;
}

int main(void)
{
    pthread_t other;
    int zero = 0, one = 1;
    pthread_create(&other, 0, work, &one);
    work(&zero);
    pthread_join(other, 0);
    for (int who = 0; who < 2; who++)
        for (int i = 0; i < N; i++)
            CHECK(a[who][i] == 3 * ROUNDS);
    return check_end();
}
