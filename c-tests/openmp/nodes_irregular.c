/* Loops whose iterations differ, under a schedule that looks again while they run: every iteration once, `lastprivate`,
   chains of nowait loops, loops in nested teams, cancelled loops, and loops with an order (OpenMP 5.1, 2.11.4).
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe-i
   hetmp-test: env=OMP_CANCELLATION=true
   hetmp-test: timeout=60 */
#include "loop_check.h"
#include <sched.h>

static volatile double sink;

/* Some rounds of arithmetic: few in the first half, many in the second, and now and then a long one. */
static void work(long i, long n)
{
    long rounds = i < n / 2 ? 20 : 400;
    if (i % 997 == 0)
        rounds = 50000;
    double x = i;
    for (long k = 0; k < rounds; k++)
        x = x * 0.999 + 1;
    sink = x;
}

static void growing(long n)
{
    long last = -1, sum = 0;
#pragma omp parallel for schedule(runtime) lastprivate(last) reduction(+ : sum)
    for (long i = 0; i < n; i++) {
        work(i, n);
        loop_hit(i);
        last = i;
        sum += i;
    }
    CHECK(last == n - 1);
    CHECK(sum == n * (n - 1) / 2);
    LOOP_EXPECT(n, 1);
}

/* Loops without a barrier between them, entered by threads at different times; one thread waits by a flag until all
   others have finished the whole chain. */
static void chain(long n)
{
    for (int late = 0; late < 3; late++) {
        int finished = 0;
#pragma omp parallel
        {
            int threads = omp_get_num_threads();
            if (threads > 1 && omp_get_thread_num() == late % threads)
                while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < threads - 1)
                    sched_yield();
            for (int l = 0; l < 10; l++) {
#pragma omp for schedule(runtime) nowait
                for (long i = 0; i < n; i++) {
                    work(i, n);
                    loop_hit(i);
                }
#pragma omp for schedule(dynamic) nowait
                for (unsigned long long i = 0; i < (unsigned long long)n; i += 3)
                    loop_hit((long)i);
            }
            __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
        }
        for (long i = 0; i < n; i++)
            CHECK(loop_hits[i] == (i % 3 ? 10 : 20));
        memset(loop_hits, 0, sizeof loop_hits);
    }
}

/* An iteration waits for what another thread does after the loop, as it may where no thread has to come back for more.
   */
static void waits_inside(void)
{
    int after = 0;
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num(), both = omp_get_num_threads() == 2;
#pragma omp for schedule(runtime) nowait
        for (int i = 0; i < 300; i++) {
            if (both && me == 0)
                while (!__atomic_load_n(&after, __ATOMIC_ACQUIRE))
                    sched_yield();
            loop_hit(i);
        }
        if (me == 1)
            __atomic_store_n(&after, 1, __ATOMIC_RELEASE);
    }
    LOOP_EXPECT(300, 1);
}

static void nested(long n)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(runtime)
        for (long o = 0; o < 6; o++) {
#pragma omp parallel for schedule(runtime) num_threads(3)
            for (long i = 0; i < n; i++) {
                work(i, n);
                loop_hit(i);
            }
        }
    }
    LOOP_EXPECT(n, 6);
}

static void cancelled(long n)
{
    for (int again = 0; again < 20; again++) {
#pragma omp parallel
        {
#pragma omp for schedule(runtime)
            for (long i = 0; i < n; i++) {
                work(i, n);
                loop_hit(i);
#pragma omp cancellation point for
                if (i == n / 3 + again * 7) {
#pragma omp cancel for
                }
            }
            /* The next loop is whole. */
#pragma omp for schedule(runtime)
            for (long i = 0; i < 500; i++)
                loop_hit(n + i);
        }
        int twice = 0;
        for (long i = 0; i < n; i++)
            twice += loop_hits[i] > 1;
        CHECK(twice == 0);
        CHECK(loop_hits[n / 3 + again * 7] == 1);
        for (long i = 0; i < 500; i++)
            CHECK(loop_hits[n + i] == 1);
        memset(loop_hits, 0, sizeof loop_hits);
    }
}

/* Order is kept: none of our schedules takes these. */
static void ordered(long n)
{
    long next = 0, seen = 0;
#pragma omp parallel for schedule(runtime) ordered
    for (long i = 0; i < n; i++) {
        work(i, n);
#pragma omp ordered
        seen += next++ == i;
    }
    CHECK(seen == n);
    static long at[4000];
#pragma omp parallel for schedule(runtime) ordered(1)
    for (long i = 0; i < n; i++) {
#pragma omp ordered depend(sink : i - 1)
        at[i] = i ? at[i - 1] + 1 : 0;
#pragma omp ordered depend(source)
    }
    CHECK(at[n - 1] == n - 1);
    int backwards = 0;
#pragma omp parallel reduction(+ : backwards)
    {
        long last = -1;
#pragma omp for schedule(monotonic : runtime)
        for (long i = 0; i < n; i++) {
            backwards += i < last;
            last = i;
        }
    }
    CHECK(backwards == 0);
}

int main(void)
{
    for (int again = 0; again < 4; again++)
        growing(20000);
    growing(1);
    growing(37);
    chain(700);
    waits_inside();
    nested(3000);
    cancelled(3000);
    ordered(2000);
    return check_end();
}
