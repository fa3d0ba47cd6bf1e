// std::threads that each open regions of their own, at the same time as the main thread (C++ threads).
// hetmp-test: libs=-lpthread
#include <atomic>
#include <thread>
#include <vector>
#include "check.h"

int main()
{
    std::atomic<long> total{0};
    auto body = [&](int id) {
        for (int round = 0; round < 20; round++) {
            long sum = 0;
            int team = 0;
#pragma omp parallel num_threads(1 + id % 3) reduction(+ : sum, team)
            {
                team++;
#pragma omp for schedule(dynamic)
                for (int i = 0; i < 50; i++)
                    sum += i;
            }
            CHECK(team == 1 + id % 3 && sum == 1225);
            total += team;
        }
    };
    for (int wave = 0; wave < 5; wave++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 6; i++)
            threads.emplace_back(body, i);
        body(2);
        for (auto &t : threads)
            t.join();
    }
    std::printf("%ld\n", total.load());
    return check_end();
}
