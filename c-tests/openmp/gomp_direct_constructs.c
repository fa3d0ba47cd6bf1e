/* Single, sections, ordered, critical and barrier entries called directly (gcc's ABI). */
#include <stdbool.h>
#include "loop_check.h"

bool GOMP_single_start(void);
void *GOMP_single_copy_start(void);
void GOMP_single_copy_end(void *);
void GOMP_barrier(void);
unsigned GOMP_sections_start(unsigned);
unsigned GOMP_sections_next(void);
void GOMP_sections_end(void);
bool GOMP_loop_ordered_dynamic_start(long, long, long, long, long *, long *);
bool GOMP_loop_ordered_dynamic_next(long *, long *);
void GOMP_ordered_start(void);
void GOMP_ordered_end(void);
void GOMP_loop_end(void);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_critical_name_start(void **);
void GOMP_critical_name_end(void **);

static void *first_name, *second_name;

int main(void)
{
    int singles = 0, next = 0;
    long a = 0, b = 0, c = 0;
#pragma omp parallel num_threads(4)
    for (int round = 0; round < 25; round++) {
        if (GOMP_single_start())
            singles++;
        GOMP_barrier();
        int mine = round * 10, *given = GOMP_single_copy_start();
        if (given == NULL)
            GOMP_single_copy_end(&mine);
        else
            CHECK(*given == round * 10);
        GOMP_barrier(); /* the owner's variable must live until all have read it */
        for (unsigned s = GOMP_sections_start(3); s; s = GOMP_sections_next())
            loop_hit(s - 1);
        GOMP_sections_end();
        long s, e;
        if (GOMP_loop_ordered_dynamic_start(0, 40, 1, 3, &s, &e))
            do {
                for (long i = s; i < e; i++) {
                    GOMP_ordered_start();
                    CHECK(next == round * 40 + i);
                    next++;
                    GOMP_ordered_end();
                }
            } while (GOMP_loop_ordered_dynamic_next(&s, &e));
        GOMP_loop_end();
        GOMP_critical_start();
        a++;
        GOMP_critical_end();
        GOMP_critical_name_start(&first_name);
        b++;
        GOMP_critical_name_start(&second_name);
        c++;
        GOMP_critical_name_end(&second_name);
        GOMP_critical_name_end(&first_name);
    }
    LOOP_EXPECT(3, 25);
    printf("%d %d %ld %ld %ld\n", singles, next, a, b, c);
    return check_end();
}
