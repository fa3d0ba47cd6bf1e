// An exception thrown after regions, past frames that opened them; destructors that open regions run (C++).
#include <stdexcept>
#include "check.h"

static int opened;

struct region_in_destructor {
    ~region_in_destructor()
    {
#pragma omp parallel num_threads(3)
#pragma omp atomic
        opened++;
    }
};

static void inner(int depth)
{
    region_in_destructor guard;
#pragma omp parallel num_threads(2)
#pragma omp atomic
    opened++;
    if (depth == 0)
        throw std::logic_error("bottom");
    inner(depth - 1);
}

int main()
{
    for (int i = 0; i < 10; i++) {
        try {
            inner(4);
        } catch (const std::logic_error &) {
            opened += 1000;
        }
    }
    std::printf("%d\n", opened);
    return check_end();
}
