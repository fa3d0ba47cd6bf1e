/* omp_all_memory: the task comes after all earlier siblings with dependences and before all later ones, and does not
   wait for siblings without any (OpenMP 5.1, 2.19.11).
   hetmp-test: flags=-fopenmp-version=51
   hetmp-test: threads=1,2,8 */
#include "../check.h"

int main(void)
{
    int a = 0, b = 0, sum = 0, late = 0;
    omp_event_handle_t event;
#pragma omp parallel
#pragma omp single
    {
        /* Complete only when the maker says so, behind the wait. */
#pragma omp task detach(event)
        {
        }
        for (int i = 0; i < 50; i++) {
#pragma omp task depend(inout : a) shared(a)
            a++;
#pragma omp task depend(inout : b) shared(b)
            b += 2;
        }
#pragma omp task depend(inout : omp_all_memory) shared(a, b, sum)
        sum = a + b;
#pragma omp task depend(in : a) shared(sum, late)
        late = sum + 1;
#pragma omp taskwait depend(inout : omp_all_memory)
        CHECK(late == sum + 1);
        omp_fulfill_event(event);
    }
    printf("%d %d\n", sum, late);
    return check_end();
}
