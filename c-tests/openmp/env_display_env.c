/* OMP_DISPLAY_ENV=true prints the ICVs when the program starts (OpenMP 5.1, 6.12).
   hetmp-test: env=OMP_NUM_THREADS=5
   hetmp-test: env=OMP_SCHEDULE=dynamic,9
   hetmp-test: env=OMP_MAX_ACTIVE_LEVELS=2
   hetmp-test: env=OMP_WAIT_POLICY=active
   hetmp-test: threads=5 */
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

int main(int argc, char **argv)
{
    if (argc > 1) {
        printf("child %d\n", omp_get_max_threads());
        return 0;
    }
    fflush(stdout);
    pid_t child = fork(); /* before the first region */
    if (child == 0) {
        char *args[] = {argv[0], "child", NULL};
        dup2(1, 2);
        setenv("OMP_DISPLAY_ENV", "true", 1);
        execv(argv[0], args);
        _exit(9);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    return check_end();
}
