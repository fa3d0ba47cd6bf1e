/* Every construct that has events, in numbers that do not depend on who runs what. */
#include <omp.h>
#include <stdio.h>
static omp_lock_t lock;
static omp_nest_lock_t nested;
static int work(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
int main(void) {
    int sum = 0, n = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < 8; i++) work(i);
#pragma omp for schedule(guided)
        for (int i = 0; i < 8; i++) work(i);
#pragma omp single
        n = omp_get_num_threads();
#pragma omp barrier
#pragma omp critical
        sum += n;
#pragma omp critical(named)
        sum += n;
        omp_set_lock(&lock);
        sum++;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nested);
        omp_set_nest_lock(&nested);
        sum++;
        omp_unset_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
#pragma omp single
        {
#pragma omp taskgroup
            for (int i = 0; i < 4; i++) {
#pragma omp task
                work(i);
            }
#pragma omp task depend(out : sum)
            work(1);
#pragma omp task depend(in : sum) if (0)
            work(1);
#pragma omp taskwait
        }
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 4; i++) {
#pragma omp ordered
            sum++;
        }
    }
#pragma omp parallel for num_threads(2) schedule(dynamic)
    for (int i = 0; i < 4; i++) work(i);
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(1)
        work(1);
    }
    if (omp_test_lock(&lock)) omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    printf("sum %d\n", sum);
    return 0;
}
