/* A program one of whose nodes dies while the nodes start, or soon after (starting.c). */
#include <stdio.h>
#include <unistd.h>

int starting(void);
static long sum;

int main(void)
{
    for (int i = 0; i < 200; i++) {
#pragma omp parallel for reduction(+ : sum)
        for (int k = 0; k < 1000; k++)
            sum += k;
        usleep(1000);
    }
    printf("sum %ld, %d\n", sum, starting());
    return 0;
}
