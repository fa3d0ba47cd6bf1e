/* declare reduction with an initializer on a structure (OpenMP 5.1, 2.21.5.7). */
#include "check.h"

struct range {
    int low, high, count;
};

static void join(struct range *a, const struct range *b)
{
    if (b->low < a->low)
        a->low = b->low;
    if (b->high > a->high)
        a->high = b->high;
    a->count += b->count;
}

#pragma omp declare reduction(join : struct range : join(&omp_out, &omp_in)) \
    initializer(omp_priv = {1 << 30, -(1 << 30), 0})

int main(void)
{
    struct range r = {5, 5, 1};
#pragma omp parallel for reduction(join : r) schedule(guided)
    for (int i = 0; i < 1000; i++) {
        int v = (i * 7919) % 1009 - 300;
        struct range one = {v, v, 1};
        join(&r, &one);
    }
    printf("%d %d %d\n", r.low, r.high, r.count);
    CHECK(r.count == 1001);
    return check_end();
}
