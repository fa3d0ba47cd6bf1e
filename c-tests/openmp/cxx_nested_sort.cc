// A recursive quicksort in tasks over a vector (OpenMP 5.1, 2.12.1).
#include <algorithm>
#include <vector>
#include "check.h"

static void sort(std::vector<unsigned> &v, long lo, long hi)
{
    if (hi - lo < 64) {
        std::sort(v.begin() + lo, v.begin() + hi);
        return;
    }
    unsigned pivot = v[(lo + hi) / 2];
    auto mid = std::partition(v.begin() + lo, v.begin() + hi, [=](unsigned x) { return x < pivot; });
    auto top = std::partition(mid, v.begin() + hi, [=](unsigned x) { return x == pivot; });
    long m = mid - v.begin(), t = top - v.begin();
#pragma omp task shared(v)
    sort(v, lo, m);
#pragma omp task shared(v)
    sort(v, t, hi);
#pragma omp taskwait
}

int main()
{
    std::vector<unsigned> v(100000);
    unsigned x = 1;
    for (auto &e : v)
        e = x = x * 1664525u + 1013904223u;
#pragma omp parallel
#pragma omp single
    sort(v, 0, (long)v.size());
    CHECK(std::is_sorted(v.begin(), v.end()));
    std::printf("%u %u\n", v.front(), v.back());
    return check_end();
}
