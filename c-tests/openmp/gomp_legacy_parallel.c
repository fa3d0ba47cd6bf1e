/* The entries older gccs call: parallel_start/end, parallel_loop_*_start, parallel_sections_start (gcc 4 ABI). */
#include <stdbool.h>
#include "loop_check.h"

void GOMP_parallel_start(void (*)(void *), void *, unsigned);
void GOMP_parallel_end(void);
void GOMP_parallel_loop_static_start(void (*)(void *), void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_dynamic_start(void (*)(void *), void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_guided_start(void (*)(void *), void *, unsigned, long, long, long, long);
void GOMP_parallel_loop_runtime_start(void (*)(void *), void *, unsigned, long, long, long);
void GOMP_parallel_sections_start(void (*)(void *), void *, unsigned, unsigned);
bool GOMP_loop_static_next(long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_guided_next(long *, long *);
bool GOMP_loop_runtime_next(long *, long *);
void GOMP_loop_end_nowait(void);
unsigned GOMP_sections_next(void);
void GOMP_sections_end_nowait(void);

static int count;

static void body(void *arg)
{
    __atomic_fetch_add((int *)arg, 1 + (omp_get_num_threads() == 3), __ATOMIC_RELAXED);
}

#define LOOP_BODY(kind)                                  \
    static void kind##_body(void *arg)                   \
    {                                                    \
        long s, e;                                       \
        (void)arg;                                       \
        while (GOMP_loop_##kind##_next(&s, &e))          \
            for (long i = s; i < e; i++)                 \
                loop_hit(i);                             \
        GOMP_loop_end_nowait();                          \
    }
LOOP_BODY(static)
LOOP_BODY(dynamic)
LOOP_BODY(guided)
LOOP_BODY(runtime)

static void sections_body(void *arg)
{
    unsigned s;
    while ((s = GOMP_sections_next()) != 0)
        __atomic_fetch_add(&((int *)arg)[s], 1, __ATOMIC_RELAXED);
    GOMP_sections_end_nowait();
}

int main(void)
{
    for (int round = 0; round < 20; round++) {
        count = 0;
        GOMP_parallel_start(body, &count, 3);
        CHECK(omp_get_level() == 1);
        body(&count);
        GOMP_parallel_end();
        CHECK(count == 6 && omp_get_level() == 0);
        GOMP_parallel_loop_static_start(static_body, NULL, 4, 0, 300, 1, 7);
        static_body(NULL);
        GOMP_parallel_end();
        GOMP_parallel_loop_dynamic_start(dynamic_body, NULL, 3, 0, 300, 1, 2);
        dynamic_body(NULL);
        GOMP_parallel_end();
        GOMP_parallel_loop_guided_start(guided_body, NULL, 2, 0, 300, 1, 1);
        guided_body(NULL);
        GOMP_parallel_end();
        GOMP_parallel_loop_runtime_start(runtime_body, NULL, 4, 0, 300, 1);
        runtime_body(NULL);
        GOMP_parallel_end();
        LOOP_EXPECT(300, 4);
        int ran[6] = {0};
        GOMP_parallel_sections_start(sections_body, ran, 3, 5);
        sections_body(ran);
        GOMP_parallel_end();
        for (int i = 1; i <= 5; i++)
            CHECK(ran[i] == 1);
        /* num_threads 1 means if(0): the region is run in place. */
        count = 0;
        GOMP_parallel_start(body, &count, 1);
        body(&count);
        GOMP_parallel_end();
        CHECK(count == 1);
    }
    return check_end();
}
