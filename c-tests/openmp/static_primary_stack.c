/* What a program does as its primary thread has the room of that thread's stack, also where workers' stacks are small:
   in regions with barriers, before and after them, and in regions that a thread with a stack of its own opens.
   hetmp-test: env=OMP_STACKSIZE=512k
   hetmp-test: libs=-lpthread
   hetmp-test: way=fibers */
#include "check.h"
#include <pthread.h>

enum { N = 1000, MIB = 1 << 20 };
static long a[N], b[N], depth;
static int mib;

__attribute__((noinline)) static long deep(int n)
{
    volatile char frame[4096];
    frame[0] = (char)n;
    return n == 0 ? 0 : 1 + deep(n - 1) + (frame[0] != (char)n);
}

__attribute__((noinline)) static void dive(void)
{
    depth += deep(mib * (MIB / 4200));
}

static void regions(int room)
{
    mib = room;
    depth = 0;
    for (int k = 0; k < 20; k++)
#pragma omp parallel
    {
#pragma omp master
        dive();
#pragma omp for
        for (int i = 0; i < N; i++)
            a[i] += i;
#pragma omp master
        dive();
#pragma omp for
        for (int i = 0; i < N; i++)
            b[i] += a[N - 1 - i];
    }
    CHECK(depth == 40 * (long)mib * (MIB / 4200));
}

static void *with_own_stack(void *unused)
{
    regions(40);
    return unused;
}

int main(void)
{
    regions(5);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, 48 * MIB) == 0);
    CHECK(pthread_create(&thread, &attr, with_own_stack, NULL) == 0);
    pthread_join(thread, NULL);
    printf("%ld %ld\n", a[N - 1], b[N - 1]);
    return check_end();
}
