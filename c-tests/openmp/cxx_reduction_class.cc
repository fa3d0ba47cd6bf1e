// Reductions over classes with constructors, by declare reduction and by overloaded operators (OpenMP 5.1, 2.21.5.7).
#include <vector>
#include "check.h"

static int alive;

class bag {
public:
    std::vector<int> counts;
    explicit bag(int n = 10) : counts(n) { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
    bag(const bag &o) : counts(o.counts) { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
    ~bag() { __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED); }
    bag &operator+=(const bag &o)
    {
        for (size_t i = 0; i < counts.size(); i++)
            counts[i] += o.counts[i];
        return *this;
    }
};

#pragma omp declare reduction(+ : bag : omp_out += omp_in) initializer(omp_priv = bag((int)omp_orig.counts.size()))

int main()
{
    for (int n = 1; n <= 6; n++) {
        bag b(7);
        long tasks = 0;
#pragma omp parallel for reduction(+ : b) schedule(dynamic, 11) num_threads(n)
        for (int i = 0; i < 700; i++)
            b.counts[i % 7] += i;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
#pragma omp taskgroup task_reduction(+ : b)
            for (int i = 0; i < 70; i++) {
#pragma omp task in_reduction(+ : b)
                b.counts[i % 7]++;
            }
        }
        for (int c : b.counts)
            tasks += c;
        std::printf("%d %ld\n", b.counts[3], tasks);
    }
    CHECK(alive == 0);
    return check_end();
}
