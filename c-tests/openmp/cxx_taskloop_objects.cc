// taskloop with random-access iterators and firstprivate/lastprivate objects (OpenMP 5.1, 2.12.2).
#include <string>
#include <vector>
#include "check.h"

int main()
{
    std::vector<int> v(500);
    for (int n = 1; n <= 5; n++) {
        std::string prefix = "n=", last;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskloop grainsize(9) firstprivate(prefix) lastprivate(last)
            for (std::vector<int>::iterator it = v.begin(); it < v.end(); ++it) {
                ++*it;
                last = prefix + std::to_string(it - v.begin());
            }
        }
        std::printf("%s\n", last.c_str());
        for (int x : v)
            CHECK(x == n);
    }
    return check_end();
}
