/* Many receives are posted as detached tasks, and fulfilled only when all are posted: a detached task
   never holds up its maker, however many tasks there are (OpenMP 5.1, 2.12.1). libgomp hangs from 64
   tasks a thread on: beyond these it runs a task in its maker and waits there for the event. */
/* hetmp-test: threads=1,2,8 */
/* hetmp-test: only=hetmp */
/* hetmp-test: timeout=30 */
#include "check.h"

enum { MOST = 1000 };

static omp_event_handle_t events[MOST];

static void receives(int n, int with_dependents)
{
    static int cell[MOST];
    int bodies = 0, used = 0;
    memset(cell, 0, sizeof cell);
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < n; i++) {
            omp_event_handle_t ev;
            if (with_dependents) {
#pragma omp task detach(ev) depend(out : cell[i]) shared(bodies)
#pragma omp atomic
                bodies++;
#pragma omp task depend(in : cell[i]) shared(used) firstprivate(i)
                {
                    CHECK(__atomic_load_n(&cell[i], __ATOMIC_SEQ_CST) == i + 1);
#pragma omp atomic
                    used++;
                }
            } else {
#pragma omp task detach(ev) shared(bodies)
#pragma omp atomic
                bodies++;
            }
            events[i] = ev;
        }
        for (int i = 0; i < n; i++) {
            __atomic_store_n(&cell[i], i + 1, __ATOMIC_SEQ_CST);
            omp_fulfill_event(events[i]);
        }
#pragma omp taskwait
        CHECK(bodies == n);
    }
    CHECK(used == (with_dependents ? n : 0));
    printf("%d %d\n", n, used);
}

int main(void)
{
    receives(100, 0);
    receives(MOST, 0);
    receives(100, 1);
    receives(MOST, 1);
    return check_end();
}
