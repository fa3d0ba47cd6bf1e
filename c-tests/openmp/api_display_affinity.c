/* omp_display_affinity prints one line to standard error (OpenMP 5.1, 3.2.27). */
#include <unistd.h>
#include "check.h"

int main(void)
{
    fflush(stdout);
    dup2(1, 2);
    setvbuf(stderr, NULL, _IONBF, 0);
    omp_display_affinity("level %L thread %n of %N team %t of %T parent %a");
#pragma omp parallel num_threads(3)
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 3; i++) {
#pragma omp ordered
            omp_display_affinity("level %L thread %n of %N parent %a");
        }
    }
    return check_end();
}
