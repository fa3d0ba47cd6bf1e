/* omp_pause_resource ends the threads of regions: their variables have the first value again. Each thread but the first
   prints what it finds. */
#include <omp.h>
#include <stdio.h>

enum { THREADS = 6 };

static int own = 100;
#pragma omp threadprivate(own)

static int found[3][THREADS];

static void region(int turn)
{
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        found[turn][me] = own;
        own += 10 * turn + me;
    }
}

int main(void)
{
    region(0);
    region(1);
    int soft = omp_pause_resource(omp_pause_soft, omp_get_initial_device());
    region(2);
    int hard = omp_pause_resource_all(omp_pause_hard);
    for (int turn = 0; turn < 3; turn++)
        for (int i = 1; i < THREADS; i++)
            printf("%d%c", found[turn][i], i < THREADS - 1 ? ' ' : '\n');
    /* Two pauses without a region between them. */
    printf("%d %d %d\n", soft, hard, omp_pause_resource_all(omp_pause_soft));
    region(2);
    for (int i = 1; i < THREADS; i++)
        printf("%d%c", found[2][i], i < THREADS - 1 ? ' ' : '\n');
    return 0;
}
