/* Successors of a detached task start only after its event, fulfilled early or late (OpenMP 5.1, 3.5.1). */
#include "check.h"

int main(void)
{
    for (int n = 2; n <= 6; n++) {
        int x = 0, y = 0, after = 0;
        for (int round = 0; round < 30; round++) {
            int fulfilled = 0;
            omp_event_handle_t ev;
#pragma omp parallel num_threads(n)
#pragma omp single
            {
#pragma omp task detach(ev) depend(out : x) shared(x)
                x++;
#pragma omp task depend(in : x) shared(x, after, fulfilled)
                {
                    int f;
#pragma omp atomic read
                    f = fulfilled;
                    CHECK(f == 1 && x == round + 1);
                    after++;
                }
#pragma omp task shared(y, fulfilled) firstprivate(ev)
                {
                    y++;
#pragma omp atomic write
                    fulfilled = 1;
                    omp_fulfill_event(ev);
                }
            }
        }
        printf("%d %d %d\n", x, y, after);
    }
    return check_end();
}
