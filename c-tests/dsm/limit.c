/* Regions under a limit of threads: what one takes from the limit is free when it is over, wherever it ran. */
#include <omp.h>
#include <stdio.h>

static int counts[40];

int main(void)
{
    for (int i = 0; i < 40; i++) {
#pragma omp parallel num_threads(i % 2 ? 8 : 4)
        if (omp_get_thread_num() == 0)
            counts[i] = omp_get_num_threads();
    }
    for (int i = 0; i < 40; i++)
        printf("%d ", counts[i]);
    printf("of at most %d\n", omp_get_thread_limit());
    return 0;
}
