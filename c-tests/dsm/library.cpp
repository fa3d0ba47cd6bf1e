/* A library of a C++ program (library_main.cpp): objects that constructors make, memory of theirs, a thread-local object, a
   region of its own, virtual functions, exceptions, and a destructor. */
#include "library.hpp"
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

namespace {
struct Said {
    std::string text;
    explicit Said(const char *what) : text(std::string(what) + ", a text too long for the object itself") { std::printf("%s\n", text.c_str()); }
    ~Said() { std::printf("the end of %s\n", text.c_str()); }
};
Said first("first");
std::map<int, std::string> names = {{1, "one"}, {2, "two"}, {3, "three"}};
std::vector<double> table(5000, 1.5);
std::unique_ptr<long[]> counts(new long[5000]());
thread_local std::string mine = "of this thread", brief = "brief";
struct SetMine { SetMine() { mine = "set by a constructor, on the first thread of the process", brief += "ly"; } } set_mine;
}

Grid library_grid(600);

const std::string &library_name(int i) { return names.at(i); }
const std::string &library_mine()
{
    brief += ", and as long as the rest: ";
    return brief += mine;
}

Grid::Grid(int n) : cells(n * 8, 1.0) {}
Grid::~Grid() {}

double Grid::step()
{
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (long i = 0; i < (long)cells.size(); i++) {
        cells[i] += table[i] * weight(i);
        table[i] += 0.25;
        counts[i]++;
        sum += cells[i];
    }
    return sum;
}

double Grid::weight(long i) const
{
    if (i < 0)
        throw std::out_of_range("cell");
    return (i % 5) * 0.5;
}

long library_counted()
{
    return std::accumulate(counts.get(), counts.get() + 5000, 0L);
}
