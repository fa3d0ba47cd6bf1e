// An ordered loop that builds text piece by piece (OpenMP 5.1, 2.19.9).
#include <sstream>
#include "check.h"

int main()
{
    std::ostringstream out;
#pragma omp parallel for ordered schedule(dynamic, 2) num_threads(4)
    for (int i = 0; i < 60; i++) {
        std::string piece = std::to_string(i * i) + ",";
#pragma omp ordered
        out << piece;
    }
    std::printf("%s\n", out.str().c_str());
    return check_end();
}
