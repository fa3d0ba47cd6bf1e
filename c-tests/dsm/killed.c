/* A thread of another process than main's ends its process in a region (HETMP_DSM_TRUST=1). */
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    int origin = getpid();
#pragma omp parallel num_threads(4)
    {
        if (getpid() != origin)
            raise(SIGKILL);
#pragma omp barrier
    }
    printf("not reached on two nodes\n");
    return 0;
}
