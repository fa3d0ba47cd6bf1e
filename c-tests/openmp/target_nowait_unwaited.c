/* target nowait tasks that nobody waits for run before the program or their thread ends: the implicit
   region around each initial thread's code ends with a barrier (OpenMP 5.1, 1.3). libgomp loses them. */
/* hetmp-test: only=hetmp */
/* hetmp-test: threads=2 */
/* hetmp-test: libs=-lpthread */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static void say(const char *what)
{
    /* Standard output may be closed by now. */
    if (write(1, what, strlen(what)) < 0)
        _exit(3);
}

static void *other(void *unused)
{
#pragma omp target nowait
    say("thread\n");
    return unused;
}

int main(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, other, NULL) || pthread_join(t, NULL))
        return 1;
    say("joined\n");
#pragma omp target nowait
    say("program\n");
    return 0;
}
