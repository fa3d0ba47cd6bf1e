/* A child of a bound thread has all CPUs of the process, and so has what it executes.
   hetmp-test: env=OMP_PROC_BIND=close
   hetmp-test: threads=2 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../check.h"

static int cpus(void)
{
    cpu_set_t mine;
    CHECK(sched_getaffinity(0, sizeof mine, &mine) == 0);
    return CPU_COUNT(&mine);
}

int main(void)
{
    int all = cpus(), places = omp_get_num_places(), threads = 0;
    CHECK(places >= 1);
#pragma omp parallel
    CHECK(cpus() <= (all + places - 1) / places);
    pid_t child = fork();
    if (child == 0) {
        if (cpus() != all)
            _exit(1);
#pragma omp parallel reduction(+ : threads)
        threads++;
        _exit(threads == 2 ? 0 : 2);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    printf("%d\n", status);
    return check_end();
}
