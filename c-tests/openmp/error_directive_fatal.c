/* error at(execution) severity(fatal) ends the program with status 1 (OpenMP 5.1, 2.5.4).
   hetmp-test: exit=1 */
#include <unistd.h>
#include "check.h"

int main(void)
{
    printf("before\n");
    fflush(stdout);
    dup2(1, 2);
#pragma omp error at(execution) severity(fatal) message("stop here")
    printf("after\n");
    return 0;
}
