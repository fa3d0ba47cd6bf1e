/* Workers have the stacks that the runtime for which the program was built gives by default, whatever the limit is:
   libgomp the thread library's, libomp the limit, at most 64 MiB.
   hetmp-test: threads=2
   hetmp-test: libs=-lpthread */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int stack_mib(void)
{
    pthread_attr_t attr;
    void *base;
    size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &base, &bytes);
    pthread_attr_destroy(&attr);
    return (int)(bytes >> 20);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        int mib = 0;
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 1)
            mib = stack_mib();
        printf("limit %s: %d MiB\n", argv[1], mib);
        return check_end();
    }
    const char *limits[] = {"8", "64", "1024", "unlimited"};
    for (int i = 0; i < 4; i++) {
        struct rlimit limit;
        getrlimit(RLIMIT_STACK, &limit);
        limit.rlim_cur = i == 3 ? limit.rlim_max : (rlim_t)atoi(limits[i]) << 20;
        if (setrlimit(RLIMIT_STACK, &limit) != 0)
            continue;
        pid_t child = fork();
        if (child == 0) {
            execl(argv[0], argv[0], limits[i], (char *)NULL);
            _exit(127);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(status == 0);
    }
    return check_end();
}
