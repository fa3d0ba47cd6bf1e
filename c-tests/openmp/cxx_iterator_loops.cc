// Worksharing loops over random-access iterators, pointers and range-for, all schedules (OpenMP 5.1, 2.11.1).
#include <array>
#include <deque>
#include <vector>
#include "check.h"

int main()
{
    std::vector<int> v(1001);
    std::deque<long> d(777);
    std::array<int, 300> a{};
#pragma omp parallel num_threads(5)
    {
#pragma omp for schedule(dynamic, 4)
        for (auto it = v.begin(); it != v.end(); ++it)
            ++*it;
#pragma omp for schedule(guided)
        for (auto it = d.rbegin(); it < d.rend(); it += 2)
            ++*it;
#pragma omp for schedule(static, 3)
        for (auto &x : a)
            x++;
#pragma omp for schedule(dynamic)
        for (int &x : v)
            x++;
#pragma omp for collapse(2) schedule(runtime)
        for (auto i = a.begin(); i < a.begin() + 30; ++i)
            for (auto j = 0u; j < 10u; j++)
                (i - a.begin()) * 10 + j < 300 ? (void)__atomic_fetch_add(&a[(i - a.begin()) * 10 + j], 1, __ATOMIC_RELAXED)
                                               : (void)0;
    }
    long s = 0;
    for (int x : v)
        CHECK(x == 2);
    for (int x : a)
        CHECK(x == 2);
    for (size_t i = 0; i < d.size(); i++)
        s += d[i];
    std::printf("%ld\n", s);
    return check_end();
}
