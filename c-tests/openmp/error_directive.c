/* error at(execution) severity(warning) goes to standard error and the program goes on (OpenMP 5.1, 2.5.4). */
#include <unistd.h>
#include "check.h"

int main(void)
{
    int n = 0;
    fflush(stdout);
    dup2(1, 2);
    setvbuf(stderr, NULL, _IONBF, 0);
#pragma omp error at(execution) severity(warning) message("careful")
#pragma omp error at(execution) severity(warning)
#pragma omp parallel num_threads(3) reduction(+ : n)
    n++;
    printf("%d\n", n);
    return check_end();
}
