/* A tied task keeps its thread across taskwait, so threadprivate data stays the same (OpenMP 5.1, 2.12.1). */
#include "check.h"

static int mine;
#pragma omp threadprivate(mine)

int main(void)
{
    int ok = 0;
#pragma omp parallel num_threads(4)
    {
        mine = omp_get_thread_num() + 100;
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 300; i++) {
#pragma omp task shared(ok)
            {
                int before = mine, thread = omp_get_thread_num();
                int *where = &mine;
                for (int k = 0; k < 3; k++) {
#pragma omp task
                    CHECK(mine == omp_get_thread_num() + 100);
                }
#pragma omp taskwait
                CHECK(mine == before && omp_get_thread_num() == thread && &mine == where);
                CHECK(before == thread + 100);
#pragma omp atomic
                ok++;
            }
        }
    }
    printf("%d\n", ok);
    return check_end();
}
