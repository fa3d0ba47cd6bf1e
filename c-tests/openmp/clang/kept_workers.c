/* Threads of the program, one after the other, that open regions: the worker of the first serves all of them.
   hetmp-test: threads=2,3 */
#define _GNU_SOURCE
#include "../check.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPENERS = 20 };

static long worker;

static int threads_of_process(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    if (tasks)
        closedir(tasks);
    return count;
}

static void *open_regions(void *unused)
{
    for (int k = 0; k < 5; k++) {
        int members = 0;
#pragma omp parallel num_threads(2) reduction(+ : members)
        {
            members++;
            if (omp_get_thread_num() == 1)
                worker = syscall(SYS_gettid);
        }
        CHECK(members == 2);
    }
    return unused;
}

static long worker_of_a_thread(void)
{
    pthread_t opener;
    CHECK(pthread_create(&opener, NULL, open_regions, NULL) == 0);
    CHECK(pthread_join(opener, NULL) == 0);
    return worker;
}

int main(void)
{
    long first = worker_of_a_thread();
    for (int i = 1; i < OPENERS; i++)
        CHECK(worker_of_a_thread() == first);
    /* This thread, and the worker. */
    CHECK(threads_of_process() == 2);
    return check_end();
}
