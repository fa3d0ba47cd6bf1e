/* target nowait outside of parallel regions: the region waits for what its maker does next, so it must not run in
   place (OpenMP 5.1, 2.14.5). */
#include "../check.h"

static int flag;

static int wait_for(int value)
{
    while (__atomic_load_n(&flag, __ATOMIC_SEQ_CST) < value) {}
    return __atomic_load_n(&flag, __ATOMIC_SEQ_CST);
}

int main(void)
{
    int seen = 0, order = 0;
#pragma omp target nowait map(tofrom : seen)
    seen = wait_for(1);
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
#pragma omp taskwait
    printf("%d\n", seen);

#pragma omp target nowait map(tofrom : order) depend(inout : order)
    order = order * 10 + wait_for(2);
    __atomic_store_n(&flag, 2, __ATOMIC_SEQ_CST);
#pragma omp task depend(inout : order) shared(order)
    order = order * 10 + 3;
#pragma omp target nowait map(tofrom : order) depend(inout : order)
    order = order * 10 + 4;
#pragma omp taskwait
    printf("%d\n", order);
    return check_end();
}
