// Code that only exceptions reach. Only compiled, never run.
#include <omp.h>
#include <stdexcept>
#include <vector>

double *a, *best;
__attribute__((noinline)) double risky(double x) {
    if (x < 0) throw std::runtime_error("negative");
    return x + 1;
}

void fits_caught(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        try {
            a[i] = risky(a[i]);
        } catch (const std::exception &) {
            a[i] = 0;
        }
    }
}

void fits_destructors(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        std::vector<double> v(8, a[i]);
        a[i] = risky(v[i & 7]);
    }
}

void refused_caught(int n) {
#pragma omp parallel
    {
        int tid = omp_get_thread_num();
#pragma omp for
        for (int i = 0; i < n; i++) {
            try {
                a[i] = risky(a[i]);
            } catch (const std::exception &) {
                best[tid] += 1;
            }
        }
    }
}

int main() { return 0; }
