/* if(0) with depend: the creator waits for the predecessors only (OpenMP 5.1, 2.12.1). */
#include "check.h"

int main(void)
{
    int total = 0;
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int i = 0; i < 200; i++) {
        int x = 0, seen = -1;
#pragma omp task depend(out : x) shared(x)
        x = i + 1;
#pragma omp task depend(in : x) if (0) shared(x, seen)
        seen = x;
        CHECK(seen == i + 1);
        total += seen;
#pragma omp taskwait
    }
    printf("%d\n", total);
    return check_end();
}
