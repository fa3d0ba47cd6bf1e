/* The legacy GOMP_loop_* entries with (start, end, incr) called directly, up and down (gcc's loop ABI). */
#include <stdbool.h>
#include "loop_check.h"

bool GOMP_loop_dynamic_start(long, long, long, long, long *, long *);
bool GOMP_loop_dynamic_next(long *, long *);
bool GOMP_loop_guided_start(long, long, long, long, long *, long *);
bool GOMP_loop_guided_next(long *, long *);
bool GOMP_loop_static_start(long, long, long, long, long *, long *);
bool GOMP_loop_static_next(long *, long *);
bool GOMP_loop_ull_dynamic_start(bool, unsigned long long, unsigned long long, unsigned long long, unsigned long long,
                                 unsigned long long *, unsigned long long *);
bool GOMP_loop_ull_dynamic_next(unsigned long long *, unsigned long long *);
void GOMP_loop_end(void);
void GOMP_loop_end_nowait(void);

int main(void)
{
#pragma omp parallel num_threads(4)
    {
        long s, e;
        if (GOMP_loop_dynamic_start(0, 500, 1, 7, &s, &e))
            do {
                CHECK(e > s && e <= 500);
                for (long i = s; i < e; i++)
                    loop_hit(i);
            } while (GOMP_loop_dynamic_next(&s, &e));
        GOMP_loop_end();
        if (GOMP_loop_guided_start(499, -1, -1, 3, &s, &e))
            do {
                for (long i = s; i > e; i--)
                    loop_hit(i);
            } while (GOMP_loop_guided_next(&s, &e));
        GOMP_loop_end_nowait();
        if (GOMP_loop_static_start(0, 1000, 2, 5, &s, &e))
            do {
                for (long i = s; i < e; i += 2)
                    loop_hit(i / 2);
            } while (GOMP_loop_static_next(&s, &e));
        GOMP_loop_end();
        unsigned long long us, ue;
        if (GOMP_loop_ull_dynamic_start(false, 500, 0, -1ull, 9, &us, &ue))
            do {
                for (unsigned long long i = us; i > ue; i--)
                    loop_hit((long)i - 1);
            } while (GOMP_loop_ull_dynamic_next(&us, &ue));
        GOMP_loop_end();
    }
    LOOP_EXPECT(500, 4);
    return check_end();
}
