// Cancelling a loop unwinds its privates: destructors of firstprivate objects run (OpenMP 5.1, 2.20.1).
// hetmp-test: env=OMP_CANCELLATION=true
#include "check.h"

static int alive;

struct held {
    held() { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
    held(const held &) { __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED); }
    ~held() { __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED); }
};

int main()
{
    for (int round = 0; round < 20; round++) {
        held h;
        int found = -1;
#pragma omp parallel num_threads(4)
        {
#pragma omp for schedule(dynamic) firstprivate(h)
            for (int i = 0; i < 2000; i++) {
                held inner;
                if (i == 77) {
#pragma omp atomic write
                    found = i;
#pragma omp cancel for
                }
#pragma omp cancellation point for
            }
        }
        CHECK(found == 77 && alive == 1);
    }
    CHECK(alive == 0);
    return check_end();
}
