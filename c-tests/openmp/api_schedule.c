/* omp_set_schedule and omp_get_schedule: kinds, modifiers, chunk rules (OpenMP 5.1, 3.2.11-12). */
#include "check.h"

static void show(void)
{
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    printf("%x %d\n", (unsigned)kind, chunk);
}

int main(void)
{
    omp_set_schedule(omp_sched_static, 0);
    show();
    omp_set_schedule(omp_sched_static, -5);
    show();
    omp_set_schedule(omp_sched_static, 9);
    show();
    omp_set_schedule(omp_sched_dynamic, 0);
    show();
    omp_set_schedule(omp_sched_dynamic, 12);
    show();
    omp_set_schedule(omp_sched_guided, -1);
    show();
    omp_set_schedule(omp_sched_auto, 33);
    show();
    omp_set_schedule(omp_sched_monotonic | omp_sched_dynamic, 3);
    show();
    omp_set_schedule(omp_sched_monotonic | omp_sched_static, 3);
    show();
    omp_set_schedule((omp_sched_t)77, 3); /* not a kind: ignored */
    show();
    return check_end();
}
