// Exceptions thrown and caught within one thread of a region, a loop, a task, a critical and a single (OpenMP 5.1, 2.6).
#include <stdexcept>
#include <string>
#include "check.h"

static int thrower(int i)
{
    if (i % 3 == 0)
        throw std::runtime_error("multiple of three");
    return i;
}

int main()
{
    int caught = 0, sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : caught, sum)
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 300; i++) {
            try {
                sum += thrower(i);
            } catch (const std::runtime_error &e) {
                caught += std::string(e.what()).size() == 17;
            }
        }
        try {
            throw omp_get_thread_num();
        } catch (int t) {
            CHECK(t == omp_get_thread_num());
        }
#pragma omp critical
        {
            try {
                throw 1.5;
            } catch (double) {
                sum += 1;
            }
        }
#pragma omp single
        for (int i = 0; i < 30; i++) {
#pragma omp task firstprivate(i)
            {
                try {
                    thrower(i);
                } catch (...) {
#pragma omp taskyield
                    CHECK(i % 3 == 0);
                }
            }
        }
    }
    std::printf("%d %d\n", caught, sum);
    return check_end();
}
