// copyprivate and single with class objects (OpenMP 5.1, 2.21.6.2).
#include <string>
#include <vector>
#include "check.h"

int main()
{
    int good = 0;
#pragma omp parallel num_threads(5) reduction(+ : good)
    for (int round = 0; round < 40; round++) {
        std::string s = "mine";
        std::vector<int> v;
#pragma omp single copyprivate(s, v)
        {
            s = "given " + std::to_string(round);
            v.assign(round + 1, round);
        }
        good += s == "given " + std::to_string(round) && v.size() == size_t(round) + 1 && v.back() == round;
    }
    std::printf("%d\n", good);
    return check_end();
}
