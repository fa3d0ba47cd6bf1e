/* Loop entries that gcc 12 no longer emits by itself: ull guided, static, ordered runtime, and the parallel_loop forms
   without nonmonotonic (gcc's ABI). */
#include <stdbool.h>
#include "loop_check.h"

typedef unsigned long long ull;

bool GOMP_loop_ull_guided_start(bool, ull, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_guided_next(ull *, ull *);
bool GOMP_loop_ull_static_start(bool, ull, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_static_next(ull *, ull *);
bool GOMP_loop_ull_nonmonotonic_runtime_start(bool, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_nonmonotonic_runtime_next(ull *, ull *);
bool GOMP_loop_ull_ordered_runtime_start(bool, ull, ull, ull, ull *, ull *);
bool GOMP_loop_ull_ordered_runtime_next(ull *, ull *);
void GOMP_loop_end(void);
void GOMP_loop_end_nowait(void);
void GOMP_ordered_start(void);
void GOMP_ordered_end(void);
void GOMP_parallel_loop_static(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_dynamic(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_guided(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
void GOMP_parallel_loop_runtime(void (*)(void *), void *, unsigned, long, long, long, unsigned);
bool GOMP_loop_static_next(long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_guided_next(long *, long *);
bool GOMP_loop_runtime_next(long *, long *);

#define LOOP_BODY(kind)                                  \
    static void kind##_body(void *arg)                   \
    {                                                    \
        long s, e;                                       \
        CHECK(arg == loop_hits);                         \
        while (GOMP_loop_##kind##_next(&s, &e))          \
            for (long i = s; i > e; i -= 2)              \
                loop_hit(i / 2);                         \
        GOMP_loop_end_nowait();                          \
    }
LOOP_BODY(static)
LOOP_BODY(dynamic)
LOOP_BODY(guided)
LOOP_BODY(runtime)

int main(void)
{
    ull base = ~0ull - 3000, next = base;
    omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp parallel num_threads(4)
    {
        ull s, e;
        if (GOMP_loop_ull_guided_start(true, base, base + 500, 1, 2, &s, &e))
            do {
                for (ull i = s; i < e; i++)
                    loop_hit((long)(i - base));
            } while (GOMP_loop_ull_guided_next(&s, &e));
        GOMP_loop_end();
        if (GOMP_loop_ull_static_start(true, base, base + 500, 1, 7, &s, &e))
            do {
                for (ull i = s; i < e; i++)
                    loop_hit((long)(i - base));
            } while (GOMP_loop_ull_static_next(&s, &e));
        GOMP_loop_end();
        if (GOMP_loop_ull_static_start(false, base + 500, base, -1ull, 0, &s, &e))
            do {
                for (ull i = s; i > e; i--)
                    loop_hit((long)(i - base) - 1);
            } while (GOMP_loop_ull_static_next(&s, &e));
        GOMP_loop_end_nowait();
        if (GOMP_loop_ull_nonmonotonic_runtime_start(true, 0, 500, 1, &s, &e))
            do {
                for (ull i = s; i < e; i++)
                    loop_hit((long)i);
            } while (GOMP_loop_ull_nonmonotonic_runtime_next(&s, &e));
        GOMP_loop_end();
        if (GOMP_loop_ull_ordered_runtime_start(true, base, base + 100, 1, &s, &e))
            do {
                for (ull i = s; i < e; i++) {
                    GOMP_ordered_start();
                    CHECK(next == i);
                    next++;
                    GOMP_ordered_end();
                }
            } while (GOMP_loop_ull_ordered_runtime_next(&s, &e));
        GOMP_loop_end();
    }
    CHECK(next == base + 100);
    LOOP_EXPECT(500, 4);
    GOMP_parallel_loop_static(static_body, loop_hits, 3, 998, -1, -2, 5, 0);
    GOMP_parallel_loop_dynamic(dynamic_body, loop_hits, 4, 998, -1, -2, 5, 0);
    GOMP_parallel_loop_guided(guided_body, loop_hits, 2, 998, -1, -2, 5, 0);
    GOMP_parallel_loop_runtime(runtime_body, loop_hits, 4, 998, -1, -2, 0);
    LOOP_EXPECT(500, 4);
    return check_end();
}
