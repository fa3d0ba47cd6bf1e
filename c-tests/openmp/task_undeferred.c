/* if(0) makes a task undeferred: it is done when the construct ends; its children may be deferred (OpenMP 5.1, 2.12.1).
   */
#include "check.h"

int main(void)
{
    int total = 0;
#pragma omp parallel num_threads(4) reduction(+ : total)
    {
        int me = omp_get_thread_num();
        for (int i = 0; i < 200; i++) {
            int x = 0, y = 0;
#pragma omp task if (0) shared(x, y)
            {
                CHECK(omp_get_thread_num() == me);
                x = i;
#pragma omp task shared(y)
                y = i + 1;
#pragma omp taskwait
            }
            CHECK(x == i && y == i + 1);
            total++;
        }
    }
    printf("%d\n", total);
    return check_end();
}
