/* A nestable lock has 8 bytes in clang's omp.h: nothing behind it is touched. A zeroed one is free. */
#include "../check.h"
#include <stdlib.h>

struct guarded {
    unsigned long before;
    omp_nest_lock_t lock;
    unsigned long after;
};

static struct guarded g = { 0x1111111111111111, { 0 }, 0x2222222222222222 };

int main(void)
{
    int count = 0;
    omp_init_nest_lock(&g.lock);
#pragma omp parallel
    for (int i = 0; i < 200; i++) {
        omp_set_nest_lock(&g.lock);
        omp_set_nest_lock(&g.lock);
        CHECK(omp_test_nest_lock(&g.lock) == 3);
        count++;
        omp_unset_nest_lock(&g.lock);
        omp_unset_nest_lock(&g.lock);
        omp_unset_nest_lock(&g.lock);
    }
    CHECK(count == 200 * omp_get_max_threads());
    omp_destroy_nest_lock(&g.lock);
    CHECK(g.before == 0x1111111111111111 && g.after == 0x2222222222222222);
    CHECK(sizeof(omp_nest_lock_t) == 8);
    return check_end();
}
