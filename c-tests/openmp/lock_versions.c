/* The OMP_1.0 lock entries: a 4-byte lock and an 8-byte nestable lock, nothing besides them touched (libgomp ABI). */
#include "check.h"

typedef int lock25;
typedef struct {
    int owner, count;
} nest25;

void old_init(lock25 *);
void old_set(lock25 *);
void old_unset(lock25 *);
int old_test(lock25 *);
void old_destroy(lock25 *);
void old_ninit(nest25 *);
void old_nset(nest25 *);
void old_nunset(nest25 *);
int old_ntest(nest25 *);
void old_ndestroy(nest25 *);
__asm__(".symver old_init,omp_init_lock@OMP_1.0");
__asm__(".symver old_set,omp_set_lock@OMP_1.0");
__asm__(".symver old_unset,omp_unset_lock@OMP_1.0");
__asm__(".symver old_test,omp_test_lock@OMP_1.0");
__asm__(".symver old_destroy,omp_destroy_lock@OMP_1.0");
__asm__(".symver old_ninit,omp_init_nest_lock@OMP_1.0");
__asm__(".symver old_nset,omp_set_nest_lock@OMP_1.0");
__asm__(".symver old_nunset,omp_unset_nest_lock@OMP_1.0");
__asm__(".symver old_ntest,omp_test_nest_lock@OMP_1.0");
__asm__(".symver old_ndestroy,omp_destroy_nest_lock@OMP_1.0");

static struct {
    unsigned long before;
    lock25 lock;
    int between;
    nest25 nest;
    unsigned long after;
} s = {0x1122334455667788, 0, 0x5a5a5a5a, {0, 0}, 0x8877665544332211};

int main(void)
{
    long count = 0, nested = 0;
    old_init(&s.lock);
    old_ninit(&s.nest);
    CHECK(old_test(&s.lock));
    CHECK(!old_test(&s.lock));
    old_unset(&s.lock);
#pragma omp parallel num_threads(4)
    for (int i = 0; i < 1000; i++) {
        old_set(&s.lock);
        count++;
        old_unset(&s.lock);
        old_nset(&s.nest);
        old_nset(&s.nest);
        CHECK(old_ntest(&s.nest) == 3);
        nested++;
        old_nunset(&s.nest);
        old_nunset(&s.nest);
        old_nunset(&s.nest);
    }
    /* Owned by the thread, not the task, as OpenMP 2.5 had it. */
    old_nset(&s.nest);
    int again = 0;
#pragma omp parallel num_threads(1)
    {
        again = old_ntest(&s.nest);
        old_nunset(&s.nest);
    }
    old_nunset(&s.nest);
    old_destroy(&s.lock);
    old_ndestroy(&s.nest);
    CHECK(s.before == 0x1122334455667788 && s.between == 0x5a5a5a5a && s.after == 0x8877665544332211);
    printf("%ld %ld %d\n", count, nested, again);
    return check_end();
}
