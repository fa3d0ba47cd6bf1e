/* Events of detached tasks that cancellation discarded are fulfilled all the same, later: the program
   cannot know which tasks were discarded (OpenMP 5.1, 2.20.1 and 3.11.1). libgomp uses freed memory. */
/* hetmp-test: env=OMP_CANCELLATION=true */
/* hetmp-test: threads=1,2,8 */
/* hetmp-test: only=hetmp */
/* hetmp-test: timeout=30 */
#include "check.h"

enum { TASKS = 64 };

static omp_event_handle_t early[2 * TASKS], late[TASKS], next[2 * TASKS];

static void round_of(int round)
{
    int ran = 0, x = 0, done = 0;
    /* Data of more than 128 bytes. */
    long a = round, b = a, c = a, d = a, e = a, f = a, g = a, h = a, j = a, k = a, l = a, m = a, n = a, o = a,
         p = a, q = a, r = a, s = a;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
            omp_event_handle_t gate;
#pragma omp task detach(gate) depend(out : x)
            x = 1;
            /* Not ready before the gate is fulfilled, so none of them runs. */
            for (int i = 0; i < TASKS; i++) {
                omp_event_handle_t small, big;
#pragma omp task detach(small) depend(in : x) shared(ran)
#pragma omp atomic
                ran++;
#pragma omp task detach(big) depend(in : x) shared(ran) firstprivate(a, b, c, d, e, f, g, h, j, \
                                                                            k, l, m, n, o, p, q, r, s)
#pragma omp atomic
                ran += (int)(a + b + c + d + e + f + g + h + j + k + l + m + n + o + p + q + r + s);
                early[2 * i] = small;
                early[2 * i + 1] = big;
            }
#pragma omp task if (0)
            {
#pragma omp cancel taskgroup
            }
            /* Discarded when they are made. */
            for (int i = 0; i < TASKS; i++) {
                omp_event_handle_t ev = (omp_event_handle_t)-1;
#pragma omp task detach(ev) shared(ran)
#pragma omp atomic
                ran++;
                late[i] = ev;
            }
            omp_fulfill_event(gate);
        }
        CHECK(ran == 0);
        /* Tasks that may get the records of the discarded ones. */
        for (int i = 0; i < 2 * TASKS; i++) {
            omp_event_handle_t ev;
#pragma omp task detach(ev) shared(done)
#pragma omp atomic
            done++;
            next[i] = ev;
        }
        for (int i = 0; i < TASKS; i++) {
            omp_fulfill_event(early[2 * i]);
            omp_fulfill_event(late[i]);
        }
        for (int i = 0; i < 2 * TASKS; i++)
            omp_fulfill_event(next[i]);
#pragma omp taskwait
        CHECK(done == 2 * TASKS);
    }
    /* After the region. */
    for (int i = 0; i < TASKS; i++)
        omp_fulfill_event(early[2 * i + 1]);
    printf("%d %d\n", ran, done);
}

int main(void)
{
    for (int round = 0; round < 20; round++)
        round_of(round);
    return check_end();
}
