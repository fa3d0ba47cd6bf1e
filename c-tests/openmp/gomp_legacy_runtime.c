/* Loops as gcc before 9 compiles them, for schedule(runtime), dynamic and guided: the entries promise that each
   thread's iterations ascend (gcc's ABI; OpenMP 5.1, 2.11.4), also under a schedule over nodes.
   hetmp-test: env=HETMP_NODES=2
   hetmp-test: env=HETMP_SCHEDULE=hetprobe */
#include <stdbool.h>
#include "loop_check.h"

typedef unsigned long long ull;

bool GOMP_loop_runtime_start(long, long, long, long *, long *);
bool GOMP_loop_runtime_next(long *, long *);
bool GOMP_loop_dynamic_start(long, long, long, long, long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_guided_start(long, long, long, long, long *, long *);
bool GOMP_loop_guided_next(long *, long *);
bool GOMP_loop_ull_runtime_start(bool, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_runtime_next(ull *, ull *);
bool GOMP_loop_ull_dynamic_start(bool, ull, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_dynamic_next(ull *, ull *);
bool GOMP_loop_ull_guided_start(bool, ull, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_guided_next(ull *, ull *);
void GOMP_loop_end(void);
void GOMP_loop_end_nowait(void);
void GOMP_parallel_start(void (*)(void *), void *, unsigned);
void GOMP_parallel_loop_runtime_start(void (*)(void *), void *, unsigned, long, long, long);
void GOMP_parallel_end(void);

static volatile double sink;

static void work(long i)
{
    for (int k = 0; k < (int)(i % 7) * 40; k++)
        sink = sink + 1.0 / (double)(k + 1);
    loop_hit(i);
}

/* Runs what one thread gets; the chunks do not go back. */
#define RUN(type, more, next, value)           \
    do {                                       \
        long last = -1;                        \
        bool any = more;                       \
        while (any) {                          \
            for (type i = s; i < e; i++) {     \
                CHECK((long)(value) > last);   \
                last = (long)(value);          \
                work(last);                    \
            }                                  \
            any = next(&s, &e);                \
        }                                      \
    } while (0)

static void signed_loops(long n)
{
    long s, e;
    RUN(long, GOMP_loop_runtime_start(0, n, 1, &s, &e), GOMP_loop_runtime_next, i);
    GOMP_loop_end();
    RUN(long, GOMP_loop_dynamic_start(0, n, 1, 3, &s, &e), GOMP_loop_dynamic_next, i);
    GOMP_loop_end_nowait();
    RUN(long, GOMP_loop_guided_start(0, n, 1, 2, &s, &e), GOMP_loop_guided_next, i);
    GOMP_loop_end();
}

static void unsigned_loops(long n)
{
    ull s, e, base = ~0ull - 60000, end = base + (ull)n;
    RUN(ull, GOMP_loop_ull_runtime_start(true, base, end, 1, &s, &e), GOMP_loop_ull_runtime_next, i - base);
    GOMP_loop_end();
    RUN(ull, GOMP_loop_ull_dynamic_start(true, base, end, 1, 3, &s, &e), GOMP_loop_ull_dynamic_next, i - base);
    GOMP_loop_end_nowait();
    RUN(ull, GOMP_loop_ull_guided_start(true, base, end, 1, 2, &s, &e), GOMP_loop_ull_guided_next, i - base);
    GOMP_loop_end();
}

static void region(void *n)
{
    signed_loops(*(long *)n);
    unsigned_loops(*(long *)n);
}

static void combined(void *n)
{
    (void)n;
    long s, e;
    RUN(long, GOMP_loop_runtime_next(&s, &e), GOMP_loop_runtime_next, i);
    GOMP_loop_end_nowait();
}

int main(void)
{
    static const long sizes[] = {0, 1, 2, 5, 100, 999, 20000};
    for (int k = 0; k < (int)(sizeof sizes / sizeof *sizes); k++)
        for (int again = 0; again < 4; again++) {
            long n = sizes[k];
            GOMP_parallel_start(region, &n, 0);
            region(&n);
            GOMP_parallel_end();
            GOMP_parallel_loop_runtime_start(combined, &n, 0, 0, n, 1);
            combined(&n);
            GOMP_parallel_end();
            LOOP_EXPECT(n, 7);
        }
    return check_end();
}
