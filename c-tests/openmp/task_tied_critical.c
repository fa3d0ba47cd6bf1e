/* Task scheduling constraint: no other task may run on a thread inside critical, where it would deadlock (OpenMP 5.1,
   2.12.6). hetmp-test: timeout=40 */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        int count = 0, inside = 0, kids = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(count, inside, kids)
            {
#pragma omp critical
                {
                    CHECK(++inside == 1);
                    count++;
#pragma omp task shared(kids)
#pragma omp atomic
                    kids++;
                    /* A tied task that waits here may run its own child, never a sibling: that one would enter
                       the critical region on the thread that holds it. */
#pragma omp taskwait
                    CHECK(inside == 1);
                    inside--;
                }
            }
        }
        printf("%d %d\n", count, kids);
    }
    return check_end();
}
