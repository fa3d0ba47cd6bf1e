/* ordered(2): a Smith-Waterman like wave over two dimensions, several schedules (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

enum { R = 14, C = 11 };
static unsigned m[R + 1][C + 1], want[R + 1][C + 1];

static unsigned cell(unsigned up, unsigned left, unsigned diagonal, int i, int j)
{
    return (up * 3 + left * 5 + diagonal * 7 + (unsigned)(i * j)) % 100003;
}

static void clear(void)
{
    memset(m, 0, sizeof m);
    for (int i = 0; i <= R; i++)
        m[i][0] = (unsigned)i;
    for (int j = 0; j <= C; j++)
        m[0][j] = (unsigned)j * 2;
}

int main(void)
{
    clear();
    for (int i = 1; i <= R; i++)
        for (int j = 1; j <= C; j++)
            m[i][j] = cell(m[i - 1][j], m[i][j - 1], m[i - 1][j - 1], i, j);
    memcpy(want, m, sizeof m);
    for (int n = 1; n <= 4; n++) {
        clear();
#pragma omp parallel for ordered(2) schedule(static, 1) num_threads(n)
        for (int i = 1; i <= R; i++)
            for (int j = 1; j <= C; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                m[i][j] = cell(m[i - 1][j], m[i][j - 1], m[i - 1][j - 1], i, j);
#pragma omp ordered depend(source)
            }
        CHECK(!memcmp(m, want, sizeof m));
        clear();
#pragma omp parallel for ordered(2) schedule(dynamic) num_threads(n)
        for (int i = 1; i <= R; i++)
            for (int j = 1; j <= C; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                m[i][j] = cell(m[i - 1][j], m[i][j - 1], m[i - 1][j - 1], i, j);
#pragma omp ordered depend(source)
            }
        CHECK(!memcmp(m, want, sizeof m));
        clear();
#pragma omp parallel for collapse(2) ordered(2) schedule(dynamic, 4) num_threads(n)
        for (int i = 1; i <= R; i++)
            for (int j = 1; j <= C; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                m[i][j] = cell(m[i - 1][j], m[i][j - 1], m[i - 1][j - 1], i, j);
#pragma omp ordered depend(source)
            }
        CHECK(!memcmp(m, want, sizeof m));
    }
    printf("%u\n", m[R][C]);
    return check_end();
}
