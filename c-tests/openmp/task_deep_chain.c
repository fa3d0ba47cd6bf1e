/* A chain of tasks, each child created by the last, far deeper than a stack would like (OpenMP 5.1, 2.12.1). */
#include "check.h"

static int links;

static void link_(int left)
{
#pragma omp atomic
    links++;
    if (left) {
#pragma omp task
        link_(left - 1);
    }
}

int main(void)
{
#pragma omp parallel num_threads(3)
#pragma omp single
    {
#pragma omp taskgroup
        link_(20000);
        CHECK(links == 20001);
    }
    printf("%d\n", links);
    return check_end();
}
