/* Tasks as clang makes them: untied ones in parts, detached ones, if(0), taskloops, reductions over tasks,
   dependences, and threadprivate data in them. */
#include "../check.h"

static int tp = 5;
#pragma omp threadprivate(tp)

static int fib(int n)
{
    int a, b;
    if (n < 2)
        return n;
#pragma omp task untied shared(a)
    {
        a = fib(n - 1);
#pragma omp taskyield
        a += 0;
    }
#pragma omp task untied shared(b) final(n < 6)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(void)
{
    int f = 0, order[4] = { 0 }, chain = 0;
    long sum = 0, product = 1, loop = 0;
    omp_event_handle_t event;
    int detached = 0;
#pragma omp parallel copyin(tp)
    {
        CHECK(tp == 5);
#pragma omp single
        {
            f = fib(15);
#pragma omp taskgroup task_reduction(+ : sum)
            for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : sum) firstprivate(i)
                sum += i;
            }
#pragma omp taskloop reduction(* : product) grainsize(1)
            for (int i = 1; i <= 10; i++)
                product *= i;
#pragma omp taskloop num_tasks(7) reduction(+ : loop) collapse(2)
            for (int i = 0; i < 20; i++)
                for (int j = 0; j < 30; j++)
                    loop += i * j;
            for (int i = 0; i < 4; i++) {
#pragma omp task depend(inout : chain) firstprivate(i) shared(order)
                order[chain++] = i;
            }
#pragma omp task if (0) depend(in : chain)
            CHECK(chain == 4);
#pragma omp task detach(event) shared(detached)
            detached++;
#pragma omp task
            omp_fulfill_event(event);
#pragma omp taskwait
            CHECK(detached == 1);
        }
    }
    int alone = 0;
    omp_event_handle_t later;
#pragma omp task detach(later) shared(alone)
    alone++;
    omp_fulfill_event(later);
#pragma omp taskwait
    CHECK(alone == 1);
    long r = 0;
#pragma omp parallel reduction(task, + : r)
    {
#pragma omp single
        for (int i = 0; i < 20; i++) {
#pragma omp task in_reduction(+ : r) firstprivate(i)
            r += i;
        }
    }
    printf("%d %ld %ld %ld %d%d%d%d %ld\n", f, sum, product, loop, order[0], order[1], order[2], order[3], r);
    return check_end();
}
