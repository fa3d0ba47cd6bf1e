/* Every iteration exactly once where the environment asks for a schedule over nodes: all forms of loops that reach
   the runtime, of all lengths, steps and types; loops with an order keep it (OpenMP 5.1, 2.11.4).
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe */
#include "loop_check.h"

static const long sizes[] = {0, 1, 2, 3, 7, 16, 100, 1001, 20000};

static void runtime_loops(long n)
{
    for (int again = 0; again < 3; again++) {
#pragma omp parallel for schedule(runtime)
        for (long i = 0; i < n; i++)
            loop_hit(i);
        LOOP_EXPECT(n, 1);
    }
#pragma omp parallel
    {
#pragma omp for schedule(runtime)
        for (long i = n - 1; i >= 0; i--)
            loop_hit(i);
#pragma omp for schedule(nonmonotonic : runtime) nowait
        for (long i = 0; i < 3 * n; i += 3)
            loop_hit(i / 3);
#pragma omp for schedule(monotonic : runtime)
        for (unsigned long long i = 0; i < (unsigned long long)n; i++)
            loop_hit((long)i);
#pragma omp for schedule(runtime)
        for (unsigned long long i = 0; i < (unsigned long long)n; i++)
            loop_hit((long)i);
    }
    LOOP_EXPECT(n, 4);
}

static void other_loops(long n)
{
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)
        for (long i = 0; i < n; i++)
            loop_hit(i);
#pragma omp for schedule(dynamic, 7) nowait
        for (unsigned long long i = (unsigned long long)n; i > 0; i--)
            loop_hit((long)i - 1);
#pragma omp for schedule(guided, 3) nowait
        for (long i = 0; i < n; i++)
            loop_hit(i);
#pragma omp for schedule(monotonic : dynamic, 2)
        for (long i = 0; i < n; i++)
            loop_hit(i);
    }
    LOOP_EXPECT(n, 4);
}

static void clauses(long n)
{
    long sum = 0, last = -1, product = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum) lastprivate(last)
    for (long i = 0; i < n; i++) {
        sum += i;
        last = i;
    }
    CHECK(sum == n * (n - 1) / 2);
    CHECK(last == n - 1);
#pragma omp parallel for schedule(dynamic) collapse(2) reduction(+ : product)
    for (int a = 0; a < 13; a++)
        for (long i = 0; i < n; i++)
            product += a;
    CHECK(product == 78 * n);
    long next = 0;
#pragma omp parallel for schedule(runtime) ordered
    for (long i = 0; i < n; i++) {
#pragma omp ordered
        {
            CHECK(next == i);
            next++;
        }
    }
    CHECK(next == n);
}

/* The end of the loop is run by whoever comes first, and its value must survive what that thread does after. */
static void last_values(void)
{
    for (int again = 0; again < 200; again++) {
        long n = 40 + again, last = -1;
        double work = 0;
#pragma omp parallel for schedule(runtime) lastprivate(last) reduction(+ : work)
        for (long i = 0; i < n; i++) {
            for (int k = 0; k < 200; k++)
                work += 1.0 / (double)(i + k + 1);
            last = i;
        }
        CHECK(last == n - 1);
        CHECK(work > 0);
    }
}

static void orphan(long n)
{
#pragma omp for schedule(runtime) nowait
    for (long i = 0; i < n; i++)
        loop_hit(i);
}

int main(void)
{
    for (int s = 0; s < (int)(sizeof sizes / sizeof *sizes); s++) {
        runtime_loops(sizes[s]);
        other_loops(sizes[s]);
        if (sizes[s] && sizes[s] < 2000)
            clauses(sizes[s]);
#pragma omp parallel
        {
            orphan(sizes[s]);
            orphan(sizes[s]);
            orphan(sizes[s]);
        }
        LOOP_EXPECT(sizes[s], 3);
    }
    last_values();
    /* Teams inside teams, and teams of changing size. */
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(runtime)
        for (long i = 0; i < 500; i++)
            loop_hit(i);
    }
    LOOP_EXPECT(500, 2);
    for (int n = 1; n < 6; n++) {
#pragma omp parallel for schedule(runtime) num_threads(n)
        for (long i = 0; i < 700; i++)
            loop_hit(i);
        LOOP_EXPECT(700, 1);
    }
    return check_end();
}
