/* What libomptarget asks the runtime at the start of a target nowait, and what it does with the answers. With a place
   for a handle, it leaves the device's work unfinished, and the runtime asks again until the work is done. Without
   one, it waits for the device inside of the task. In both cases the task ends after the device's work. Also asked:
   the numbers of tasks, which libomp does not count unless it was built for a debugger. The tasks are untied, as those
   that __kmpc_omp_target_task_alloc makes.
   hetmp-test: flags=-rdynamic */
#include "../check.h"
#include <stdbool.h>

#define WORKS 40

/* References of libomptarget are weak, too. */
int __kmpc_global_thread_num(void *) __attribute__((weak));
bool __kmpc_omp_has_task_team(int) __attribute__((weak));
void **__kmpc_omp_get_target_async_handle_ptr(int) __attribute__((weak));
unsigned long long __kmpc_get_taskid(void) __attribute__((weak));
unsigned long long __kmpc_get_parent_taskid(void) __attribute__((weak));

/* The work of a device: done when nobody has to ask again. */
struct work {
    int asks_left, done;
};

static struct work works[WORKS];

static void finish(struct work *w)
{
    __atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
}

/* The runtime calls this function, by its name, for a task that has left a handle. */
void __tgt_target_nowait_query(void **place)
{
    struct work *w = *place;
    if (--w->asks_left > 0)
        return;
    finish(w);
    *place = NULL;
}

static void start(struct work *w, int asks)
{
    int n = __kmpc_global_thread_num(NULL);
    void **place = __kmpc_omp_has_task_team(n) ? __kmpc_omp_get_target_async_handle_ptr(n) : NULL;
    w->asks_left = asks;
    if (!place) {
        finish(w);
        return;
    }
    CHECK(*place == NULL);
    *place = w;
}

static int all_done(int from, int to)
{
    int done = 0;
    for (int i = from; i < to; i++)
        done += __atomic_load_n(&works[i].done, __ATOMIC_ACQUIRE);
    return done == to - from;
}

int main(void)
{
    const unsigned long long unnumbered = ~0ull;
    int last = 0;
    omp_get_thread_num();
    CHECK(__kmpc_global_thread_num(NULL) == 0);
    CHECK(__kmpc_get_taskid() == unnumbered && __kmpc_get_parent_taskid() == 0);
#pragma omp parallel
    {
        CHECK(__kmpc_get_taskid() == unnumbered && __kmpc_get_parent_taskid() == unnumbered);
#pragma omp single
        {
            for (int i = 0; i < WORKS / 2; i++) {
#pragma omp task untied firstprivate(i)
                {
                    CHECK(__kmpc_get_taskid() == unnumbered && __kmpc_get_parent_taskid() == unnumbered);
                    start(&works[i], i % 4 + 1);
                }
            }
#pragma omp taskwait
            CHECK(all_done(0, WORKS / 2));
            for (int i = WORKS / 2; i < WORKS; i++) {
#pragma omp task untied firstprivate(i) depend(inout : last)
                {
                    CHECK(last == 0 || all_done(WORKS / 2, i));
                    last = i;
                    start(&works[i], 2);
                }
            }
        }
        CHECK(all_done(WORKS / 2, WORKS));
    }
    CHECK(__kmpc_get_taskid() == unnumbered && __kmpc_get_parent_taskid() == 0);
    return check_end();
}
