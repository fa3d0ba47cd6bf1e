/* target nowait outside of parallel regions: the maker goes on, and what it does before it waits may
   come first (OpenMP 5.1, 2.14.5). Host tasks that depend on the region come after it. */
/* libgomp 12 crashes in about a quarter of such runs with 8 threads under a passive policy. */
/* hetmp-test: only=hetmp */
#include "check.h"

static int flag;

static int look(void)
{
    return __atomic_load_n(&flag, __ATOMIC_SEQ_CST);
}

int main(void)
{
    int seen = -1, order = 0, many = 0, grouped = -1;
    /* Run in place, it would see the flag unset. */
#pragma omp target nowait map(tofrom : seen)
    seen = look();
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
#pragma omp taskwait
    printf("%d\n", seen);

#pragma omp target nowait map(tofrom : order) depend(inout : order)
    order = order * 10 + look();
    __atomic_store_n(&flag, 2, __ATOMIC_SEQ_CST);
#pragma omp task depend(inout : order) shared(order)
    order = order * 10 + 3;
#pragma omp target nowait map(tofrom : order) depend(inout : order)
    order = order * 10 + 4;
#pragma omp taskwait depend(in : order)
    printf("%d\n", order);

    __atomic_store_n(&flag, 5, __ATOMIC_SEQ_CST);
#pragma omp taskgroup
    {
#pragma omp target nowait map(tofrom : grouped)
        grouped = look();
        __atomic_store_n(&flag, 6, __ATOMIC_SEQ_CST);
    }
    printf("%d\n", grouped);

    /* More than are kept waiting, a region in between, and copies made at the construct. */
    for (int i = 1; i <= 1000; i++) {
#pragma omp target nowait map(tofrom : many) firstprivate(i) depend(inout : many)
        many += i;
        if (i == 500) {
            int inside = 0;
#pragma omp parallel reduction(+ : inside)
            {
#pragma omp task shared(inside)
                {
                }
#pragma omp taskwait
                inside++;
            }
            CHECK(inside >= 1);
        }
    }
#pragma omp taskwait
    CHECK(many == 500500);
    printf("%d\n", many);
    return check_end();
}
