/* A blocked triangular solve's graph of in/inout tasks, checked against the sequential order (OpenMP 5.1, 2.19.11). */
#include "check.h"

enum { B = 12 };
static unsigned t[B][B], want[B][B];

static void factor(unsigned *a)
{
    *a = *a * 2654435761u + 12345;
}
static void solve(const unsigned *d, unsigned *a)
{
    *a = (*a ^ *d) * 2246822519u + 1;
}
static void update(const unsigned *a, const unsigned *b, unsigned *c)
{
    *c = *c * 3266489917u + *a * 5 + *b * 7;
}

int main(void)
{
    for (int i = 0; i < B; i++)
        for (int j = 0; j < B; j++)
            want[i][j] = (unsigned)(i * 100 + j);
    for (int k = 0; k < B; k++) {
        factor(&want[k][k]);
        for (int i = k + 1; i < B; i++)
            solve(&want[k][k], &want[i][k]);
        for (int i = k + 1; i < B; i++)
            for (int j = k + 1; j <= i; j++)
                update(&want[i][k], &want[j][k], &want[i][j]);
    }
    for (int n = 1; n <= 8; n++) {
        for (int i = 0; i < B; i++)
            for (int j = 0; j < B; j++)
                t[i][j] = (unsigned)(i * 100 + j);
#pragma omp parallel num_threads(n)
#pragma omp single
        for (int k = 0; k < B; k++) {
#pragma omp task depend(inout : t[k][k])
            factor(&t[k][k]);
            for (int i = k + 1; i < B; i++) {
#pragma omp task depend(in : t[k][k]) depend(inout : t[i][k])
                solve(&t[k][k], &t[i][k]);
            }
            for (int i = k + 1; i < B; i++)
                for (int j = k + 1; j <= i; j++) {
#pragma omp task depend(in : t[i][k], t[j][k]) depend(inout : t[i][j])
                    update(&t[i][k], &t[j][k], &t[i][j]);
                }
        }
        CHECK(!memcmp(t, want, sizeof t));
    }
    printf("%u\n", t[B - 1][B - 1]);
    return check_end();
}
