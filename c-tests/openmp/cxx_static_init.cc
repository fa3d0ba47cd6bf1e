// A function-local static first reached by all threads at once, whose constructor opens a region (C++ 6.7).
#include "check.h"

static int built;

struct once {
    int v;
    once() : v(0)
    {
        int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
        n++;
        v = n > 0 ? 42 : 0;
        __atomic_fetch_add(&built, 1, __ATOMIC_RELAXED);
    }
};

static once &get()
{
    static once o;
    return o;
}

struct global {
    int team = 0;
    global()
    {
#pragma omp parallel num_threads(3)
#pragma omp atomic
        team++;
    }
    ~global()
    {
        int n = 0;
#pragma omp parallel num_threads(3) reduction(+ : n)
        n++;
        std::printf("end %d\n", n);
    }
} before_main;

int main()
{
    int sum = 0;
#pragma omp parallel num_threads(6) reduction(+ : sum)
    sum += get().v;
    std::printf("%d %d %d\n", sum, built, before_main.team);
    return check_end();
}
