// depend with iterators and array sections over container storage (OpenMP 5.1, 2.19.11).
#include <vector>
#include "check.h"

int main()
{
    for (int n = 1; n <= 6; n++) {
        std::vector<int> v(32), w(32);
        int *pv = v.data(), *pw = w.data(), total = 0;
#pragma omp parallel num_threads(n)
#pragma omp single
        {
            for (int i = 0; i < 32; i++) {
#pragma omp task depend(out : pv[i])
                pv[i] = i;
            }
            for (int i = 0; i < 32; i++) {
#pragma omp task depend(iterator(k = i : 32), in : pv[k]) depend(out : pw[i])
                for (int k = i; k < 32; k++)
                    pw[i] += pv[k];
            }
#pragma omp task depend(iterator(unsigned k = 0 : 32), in : pw[k]) shared(total)
            for (int x : w)
                total += x;
        }
        std::printf("%d\n", total);
    }
    return check_end();
}
