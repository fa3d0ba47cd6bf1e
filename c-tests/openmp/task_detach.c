/* A detached task completes when its event is fulfilled: taskwait, taskgroup and barrier wait (OpenMP 5.1, 2.12.1 and
   3.5.1). */
#include "check.h"

int main(void)
{
    for (int n = 1; n <= 6; n++) {
        int body = 0, freed = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 0; i < 20; i++) {
                omp_event_handle_t ev;
#pragma omp task detach(ev) shared(body)
#pragma omp atomic
                body++;
#pragma omp task firstprivate(ev) shared(freed)
                {
#pragma omp atomic
                    freed++;
                    omp_fulfill_event(ev);
                }
                if (i % 2) {
#pragma omp taskwait
                    CHECK(body == i + 1 && freed == i + 1);
                }
            }
#pragma omp taskgroup
            {
                omp_event_handle_t ev;
#pragma omp task detach(ev) shared(body)
#pragma omp atomic
                body++;
#pragma omp task firstprivate(ev) shared(freed)
                {
#pragma omp atomic
                    freed++;
                    omp_fulfill_event(ev);
                }
            }
            CHECK(body == 21 && freed == 21);
        }
        printf("%d %d\n", body, freed);
    }
    return check_end();
}
