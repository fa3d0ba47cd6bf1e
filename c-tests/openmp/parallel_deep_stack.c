/* Regions inside of regions, thousands deep on one stack, where the outermost runs as a virtual team: each takes
   little of the stack (OpenMP 5.1, 2.6). */
/* hetmp-test: env=OMP_SCHEDULE=hetprobe */
/* hetmp-test: env=HETMP_STATIC=force */
/* hetmp-test: threads=1,2 */
/* hetmp-test: libs=-lpthread */
#include "check.h"
#include <pthread.h>

/* Bytes of stack, and levels: some 400 bytes for each, of which the program's own frames take a part. */
enum { STACK = 4 << 20, LEVELS = 10000 };

static int reached;

__attribute__((noinline)) static void deeper(int levels)
{
    if (levels == 0) {
        reached = omp_get_level();
        return;
    }
#pragma omp parallel num_threads(1)
    deeper(levels - 1);
}

static void *begin(void *unused)
{
    deeper(LEVELS);
    return unused;
}

int main(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    CHECK(pthread_attr_setstacksize(&attr, STACK) == 0);
    CHECK(pthread_create(&thread, &attr, begin, NULL) == 0);
    pthread_join(thread, NULL);
    printf("%d\n", reached);
    return check_end();
}
