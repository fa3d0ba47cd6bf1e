#include <string>
#include <vector>

struct Grid {
    std::vector<double> cells;
    explicit Grid(int n);
    virtual ~Grid();
    double step();
    double weight(long i) const;
};

extern Grid library_grid;
const std::string &library_name(int i);
const std::string &library_mine();
long library_counted();
