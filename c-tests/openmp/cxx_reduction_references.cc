// Reductions and privates of references, of array members and of user types with min and max (OpenMP 5.1, 2.21.5).
#include <algorithm>
#include "check.h"

struct box {
    double lo[3], hi[3];
};

static void grow(box &a, const box &b)
{
    for (int k = 0; k < 3; k++) {
        a.lo[k] = std::min(a.lo[k], b.lo[k]);
        a.hi[k] = std::max(a.hi[k], b.hi[k]);
    }
}
#pragma omp declare reduction(grow : box : grow(omp_out, omp_in)) initializer(omp_priv = omp_orig)

static void accumulate(long &sum, int (&hist)[8])
{
#pragma omp parallel for reduction(+ : sum, hist) num_threads(4) schedule(guided)
    for (int i = 0; i < 800; i++) {
        sum += i;
        hist[i % 8]++;
    }
}

int main()
{
    long sum = 0;
    int hist[8] = {};
    accumulate(sum, hist);
    box b = {{0, 0, 0}, {0, 0, 0}};
#pragma omp parallel for reduction(grow : b) num_threads(3)
    for (int i = 0; i < 100; i++) {
        box p = {{double(-i), i * .5, 7.}, {double(i), i * .25, 9.}};
        grow(b, p);
    }
    std::printf("%ld %d %.1f %.1f %.1f %.2f\n", sum, hist[5], b.lo[0], b.hi[0], b.lo[1], b.hi[1]);
    return check_end();
}
