// Exceptions that are thrown, caught and passed on within iterations, in a region that uses the thread number.
// hetmp-test: threads=2,3
// hetmp-test: way=uneven
#include "loop_check.h"
#include <stdexcept>
#include <string>

static int thrown[64];

struct Guard {
    int *count;
    explicit Guard(int *c) : count(c) {}
    ~Guard() { __atomic_fetch_add(count, 1, __ATOMIC_RELAXED); }
};

__attribute__((noinline)) static int perhaps(int i)
{
    if (i % 7 == 0)
        throw std::runtime_error(std::to_string(i));
    return i;
}

int main()
{
    enum { N = 3000 };
    for (int round = 0; round < 6; round++) {
        int left = 0, caught = 0;
        long sum = 0;
#pragma omp parallel reduction(+ : caught, sum)
        {
            thrown[omp_get_thread_num()] = 0;
#pragma omp for
            for (int i = 0; i < N; i++) {
                try {
                    Guard guard(&left);
                    sum += perhaps(i);
                } catch (const std::runtime_error &e) {
                    caught += std::stoi(e.what()) == i;
                    thrown[omp_get_thread_num()]++;
                }
            }
        }
        int all = 0;
        for (int t = 0; t < omp_get_max_threads(); t++)
            all += thrown[t];
        CHECK(left == N && caught == (N + 6) / 7 && all == caught);
        std::printf("%ld\n", sum);
    }
    return check_end();
}
