// firstprivate objects of tasks are copied once at creation and destroyed once, deferred or not (OpenMP 5.1, 2.12.1).
#include <memory>
#include <vector>
#include "check.h"

int main()
{
    for (int n = 1; n <= 8; n++) {
        auto shared = std::make_shared<std::vector<int>>(100, 1);
        std::vector<int> data(200);
        long sum = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 0; i < 200; i++) {
                data[i] = i;
                auto mine = shared;
#pragma omp task firstprivate(mine, data) shared(sum)
                {
                    CHECK(data[i] == i && mine->size() == 100);
#pragma omp atomic
                    sum += (*mine)[i % 100] + data[i];
                }
#pragma omp task firstprivate(mine) if (i % 2) final(i % 5 == 0)
                CHECK(mine.use_count() > 1);
            }
#pragma omp taskwait
            CHECK(shared.use_count() == 1);
        }
        std::printf("%ld %ld\n", sum, shared.use_count());
    }
    return check_end();
}
