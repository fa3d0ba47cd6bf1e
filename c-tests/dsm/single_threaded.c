/* The C library says whether a process has one thread only; C++'s shared pointers then count without atomics. The
   variable is in the program's own data, which nodes share. */
#include <stdio.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
static char __libc_single_threaded;
#endif

int main(void)
{
    int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
    wrong += __libc_single_threaded != 0;
    printf("%d threads of 4 are told to be alone\n", wrong);
    return 0;
}
