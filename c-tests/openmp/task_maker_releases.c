/* Whoever makes tasks releases them later: a detached task and thousands of dependents are made, and
   then the same thread fulfills the event, or does what the first task spins on. Making a task must
   not wait for the task's predecessors (OpenMP 5.1, 2.12.1 and 2.19.11). */
/* hetmp-test: env=OMP_CANCELLATION=true */
/* hetmp-test: threads=1,2,8 */
/* hetmp-test: timeout=30 */
#include "check.h"

static int released;

/* Readers of one detached writer. */
static void fan(int n)
{
    int x = 0, ran = 0, early = 0;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t ev;
        __atomic_store_n(&released, 0, __ATOMIC_SEQ_CST);
#pragma omp task detach(ev) depend(out : x)
        x = 1;
        for (int i = 0; i < n; i++) {
#pragma omp task depend(in : x) shared(ran, early)
            {
                if (!__atomic_load_n(&released, __ATOMIC_SEQ_CST) || x != 1)
#pragma omp atomic
                    early++;
#pragma omp atomic
                ran++;
            }
        }
        __atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
        omp_fulfill_event(ev);
#pragma omp taskwait
        CHECK(ran == n);
    }
    CHECK(early == 0);
    printf("fan %d: %d\n", n, ran);
}

/* A chain behind the detached task, inside a taskgroup, with a taskloop in between. */
static void chain(int n)
{
    int x = 0, looped = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
            omp_event_handle_t ev;
#pragma omp task detach(ev) depend(inout : x) shared(x)
            x = 1;
            for (int i = 1; i <= n; i++) {
#pragma omp task depend(inout : x) shared(x) firstprivate(i)
                x = x == i ? i + 1 : -1;
            }
#pragma omp taskloop shared(looped) num_tasks(300)
            for (int i = 0; i < 1000; i++)
#pragma omp atomic
                looped++;
            CHECK(looped == 1000);
            omp_fulfill_event(ev);
        }
        CHECK(x == n + 1);
    }
    printf("chain %d: %d %d\n", n, x, looped);
}

/* The maker is itself a task, and each of many events releases dependents of its own. */
static void inside_task(int n)
{
    int ran = 0;
#pragma omp parallel
#pragma omp single
#pragma omp task shared(ran)
    {
        int cell[20];
        omp_event_handle_t ev[20];
        for (int k = 0; k < 20; k++) {
            omp_event_handle_t one;
#pragma omp task detach(one) depend(out : cell[k]) shared(cell) firstprivate(k)
            cell[k] = k;
            ev[k] = one;
        }
        for (int i = 0; i < n; i++) {
            int k = i % 20;
#pragma omp task depend(in : cell[k]) shared(cell, ran) firstprivate(k)
            {
                CHECK(cell[k] == k);
#pragma omp atomic
                ran++;
            }
        }
        for (int k = 19; k >= 0; k--)
            omp_fulfill_event(ev[k]);
#pragma omp taskwait
    }
    printf("inside %d: %d\n", n, ran);
}

/* The first task waits until all dependents are made; then the maker waits for one of these. */
static void spin(int n)
{
    int posted = 0, x = 0, ran = 0, threads = 0;
#pragma omp parallel
    {
#pragma omp single
        threads = omp_get_num_threads();
        if (threads > 1) {
#pragma omp single
            {
#pragma omp task depend(out : x) shared(posted, x)
                {
                    while (!__atomic_load_n(&posted, __ATOMIC_SEQ_CST))
                        ;
                    x = 1;
                }
                for (int i = 0; i < n; i++) {
#pragma omp task depend(in : x) shared(ran, x)
                    {
                        CHECK(x == 1);
                        __atomic_fetch_add(&ran, 1, __ATOMIC_SEQ_CST);
                    }
                }
                __atomic_store_n(&posted, 1, __ATOMIC_SEQ_CST);
                while (!__atomic_load_n(&ran, __ATOMIC_SEQ_CST))
                    ;
            }
        }
    }
    CHECK(threads == 1 || ran == n);
    printf("spin %d\n", n);
}

/* Cancelled meanwhile: the dependents are discarded, and nobody waits for them. */
static void cancelled(int n)
{
    int x = 0, ran = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
            omp_event_handle_t ev;
#pragma omp task if (0) shared(x)
            x = 1;
#pragma omp task detach(ev) depend(out : x) shared(x) if (x)
            x = 2;
            for (int i = 0; i < n; i++) {
#pragma omp task depend(in : x) shared(ran)
#pragma omp atomic
                ran++;
            }
            omp_fulfill_event(ev);
#pragma omp task shared(ran)
            {
#pragma omp cancel taskgroup
            }
        }
        CHECK(ran <= n);
    }
    printf("cancelled %d\n", n);
}

int main(void)
{
    fan(200);
    fan(10000);
    chain(200);
    chain(10000);
    inside_task(200);
    inside_task(5000);
    spin(200);
    spin(1000);
    cancelled(1000);
    return check_end();
}
