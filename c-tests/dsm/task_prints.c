/* Tasks that print: one that a task of a function makes which the region calls, or (with BY_POINTER) one that sorts by
   a function which prints, and which only a variable names. */
#include <stdio.h>
#include <stdlib.h>

static int done;

#ifdef BY_POINTER
static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    if (x == 3 && y == 3)
        printf("task %d\n", x);
    return x - y;
}

int (*volatile order)(const void *, const void *) = compare;

static void __attribute__((noinline)) outer(int i)
{
#pragma omp task firstprivate(i)
    {
        int both[2] = {i, i};
        qsort(both, 2, sizeof *both, order);
#pragma omp atomic
        done++;
    }
}
#else
static void __attribute__((noinline)) outer(int i)
{
#pragma omp task firstprivate(i)
    {
#pragma omp task firstprivate(i)
        {
            if (i == 3)
                printf("task %d\n", i);
#pragma omp atomic
            done++;
        }
    }
}
#endif

int main(void)
{
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 8; i++)
        outer(i);
    printf("%d tasks\n", done);
    return 0;
}
