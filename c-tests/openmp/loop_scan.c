/* Inclusive and exclusive scan in loops, integers and user reductions (OpenMP 5.1, 2.11.8). */
#include "loop_check.h"

enum { N = 1000 };
static int in[N], inc[N], exc[N];
static double dinc[N];

int main(void)
{
    for (int i = 0; i < N; i++)
        in[i] = (i * 37) % 101 - 50;
    for (int n = 1; n <= 9; n++) {
        int r = 5;
#pragma omp parallel for reduction(inscan, + : r) num_threads(n)
        for (int i = 0; i < N; i++) {
            r += in[i];
#pragma omp scan inclusive(r)
            inc[i] = r;
        }
        int s = 5;
#pragma omp parallel for reduction(inscan, + : s) num_threads(n)
        for (int i = 0; i < N; i++) {
            exc[i] = s;
#pragma omp scan exclusive(s)
            s += in[i];
        }
        double d = -1e9;
#pragma omp parallel for simd reduction(inscan, max : d) num_threads(n)
        for (int i = 0; i < N; i++) {
            d = d > in[i] ? d : in[i];
#pragma omp scan inclusive(d)
            dinc[i] = d;
        }
        int run = 5, top = -1000;
        for (int i = 0; i < N; i++) {
            CHECK(exc[i] == run);
            run += in[i];
            CHECK(inc[i] == run);
            top = top > in[i] ? top : in[i];
            CHECK(dinc[i] == top);
        }
        CHECK(r == run && s == run && d == top);
    }
    printf("%d %d\n", inc[N - 1], exc[N - 1]);
    return check_end();
}
