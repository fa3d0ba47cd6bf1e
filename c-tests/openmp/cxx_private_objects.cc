// Constructors and destructors of private, firstprivate and lastprivate objects balance (OpenMP 5.1, 2.21.4).
#include "check.h"

static int made, copied, gone, assigned;

struct counted {
    int v;
    counted(int x = 5) : v(x) { __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED); }
    counted(const counted &o) : v(o.v) { __atomic_fetch_add(&copied, 1, __ATOMIC_RELAXED); }
    counted &operator=(const counted &o)
    {
        v = o.v;
        __atomic_fetch_add(&assigned, 1, __ATOMIC_RELAXED);
        return *this;
    }
    ~counted() { __atomic_fetch_add(&gone, 1, __ATOMIC_RELAXED); }
};

int main()
{
    {
        counted p(1), f(2), l(3), r(4);
#pragma omp parallel num_threads(4) private(p) firstprivate(f)
        {
            CHECK(p.v == 5 && f.v == 2);
            p.v = f.v = omp_get_thread_num();
#pragma omp for schedule(dynamic, 3) lastprivate(l) firstprivate(r)
            for (int i = 0; i < 50; i++) {
                CHECK(r.v == 4);
                l.v = i;
            }
        }
        CHECK(p.v == 1 && f.v == 2 && l.v == 49 && r.v == 4);
    }
    std::printf("%d %d %d %d\n", made, copied, assigned, gone);
    CHECK(made + copied == gone);
    return check_end();
}
