// Data-sharing of members inside member functions, private and reduction (OpenMP 5.1, 2.21.4).
#include "check.h"

class grid {
    int side, scratch;
    long total;
    int cell[64];

public:
    explicit grid(int s) : side(s), scratch(-1), total(100), cell{} {}
    void fill()
    {
#pragma omp parallel num_threads(4)
        {
#pragma omp for collapse(2) schedule(dynamic, 3) private(scratch) reduction(+ : total)
            for (int i = 0; i < side; i++)
                for (int j = 0; j < side; j++) {
                    scratch = i * side + j;
                    cell[scratch] += scratch;
                    total += scratch;
                }
#pragma omp single
            {
#pragma omp task
#pragma omp atomic
                cell[0] += side;
            }
        }
    }
    void check() const
    {
        for (int i = 0; i < 64; i++)
            CHECK(cell[i] == i + (i == 0 ? side : 0));
        CHECK(scratch == -1);
        std::printf("%ld %d\n", total, cell[0]);
    }
};

int main()
{
    grid g(8);
    g.fill();
    g.check();
    return check_end();
}
