/* omp_get_num_procs and the default team follow the affinity mask of the process (OpenMP 5.1, 3.2.5).
   hetmp-test: threads=1 */
#define _GNU_SOURCE
#include <sched.h>
#include <unistd.h>
#include <sys/wait.h>
#include "check.h"

int main(int argc, char **argv)
{
    (void)argc;
    cpu_set_t all, one;
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    if (getenv("C_TEST_PINNED")) {
        CHECK(CPU_COUNT(&all) == 1);
        CHECK(omp_get_num_procs() == 1);
        CHECK(omp_get_max_threads() == 1);
        return check_end();
    }
    CHECK(omp_get_num_procs() == CPU_COUNT(&all));
    fflush(stdout);
    pid_t child = fork(); /* before the runtime has threads */
    if (child == 0) {
        CPU_ZERO(&one);
        for (int i = 0; i < CPU_SETSIZE; i++)
            if (CPU_ISSET(i, &all)) {
                CPU_SET(i, &one);
                break;
            }
        sched_setaffinity(0, sizeof one, &one);
        setenv("C_TEST_PINNED", "1", 1);
        unsetenv("OMP_NUM_THREADS");
        execv(argv[0], argv);
        _exit(9);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    /* When the program changes its mask itself, libgomp follows and libomp does not. */
#pragma omp parallel num_threads(2)
    {
    }
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    printf("%d\n", omp_get_num_procs() == 1);
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        printf("%d\n", omp_get_num_procs() == 1);
    }
    sched_setaffinity(0, sizeof all, &all);
    CHECK(omp_get_num_procs() == CPU_COUNT(&all));
    return check_end();
}
