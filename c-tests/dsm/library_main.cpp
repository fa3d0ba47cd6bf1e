/* A C++ program with a library of its own (library.cpp). */
#include "library.hpp"
#include <cstdio>

static Grid own(50);

int main()
{
    std::printf("%s %s %s\n", library_name(1).c_str(), library_name(3).c_str(), library_mine().c_str());
    for (int round = 0; round < 3; round++) {
        std::printf("library's grid %.2f, own %.2f\n", library_grid.step(), own.step());
        double sum = 0;
        auto &cells = library_grid.cells;
#pragma omp parallel for reduction(+ : sum) schedule(static)
        for (long i = 0; i < (long)cells.size(); i++) {
            cells[i] -= library_grid.weight(i) / 2;
            sum += cells[i];
        }
        std::printf("sum %.2f\n", sum);
    }
    std::printf("counted %ld\n", library_counted());
    return 0;
}
