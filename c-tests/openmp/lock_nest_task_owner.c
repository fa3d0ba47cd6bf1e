/* A nestable lock belongs to the task region: a task on the same thread is another owner (OpenMP 5.1, 3.9). */
#include "check.h"

int main(void)
{
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    int inner = -1, outer = -1;
#pragma omp parallel num_threads(1)
    {
        omp_set_nest_lock(&lock);
#pragma omp task if (0) shared(inner)
        inner = omp_test_nest_lock(&lock);
        outer = omp_test_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
    }
    printf("inner %d outer %d\n", inner, outer);
    omp_destroy_nest_lock(&lock);
    return check_end();
}
