// Regions in lambdas and templates, with captured variables shared by reference (OpenMP 5.1, 2.21).
#include <functional>
#include "check.h"

template <typename T, int N> static T sum_to(T scale)
{
    T sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(N) schedule(dynamic, N)
    for (int i = 0; i < 100; i++)
        sum += scale * i;
    return sum;
}

int main()
{
    int base = 3, hits = 0;
    omp_set_max_active_levels(2);
    auto run = [&base, &hits](int n) {
        int local = n * base;
#pragma omp parallel num_threads(n)
        {
            auto inner = [&] {
#pragma omp atomic
                hits += local;
            };
            inner();
#pragma omp barrier
        }
        return local;
    };
    int r = run(4);
    std::function<int(int)> f = run;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task
        f(2);
    }
    std::printf("%d %d %.1f %ld %d\n", r, hits, sum_to<double, 3>(0.5), sum_to<long, 5>(2), sum_to<int, 1>(1));
    return check_end();
}
