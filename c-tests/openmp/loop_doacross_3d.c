/* ordered(3) with negative steps in a dimension (OpenMP 5.1, 2.19.9). */
#include "loop_check.h"

enum { X = 12, Y = 9, Z = 7 };
static int t[X][Y][Z];

int main(void)
{
    for (int n = 1; n <= 5; n++) {
        memset(t, 0, sizeof t);
#pragma omp parallel for ordered(3) schedule(dynamic) num_threads(n)
        for (int x = 0; x < X; x++)
            for (int y = Y - 1; y >= 0; y--)
                for (int z = 0; z < Z; z += 2) {
#pragma omp ordered depend(sink : x - 1, y, z) depend(sink : x, y + 1, z) depend(sink : x, y, z - 2)
                    int v = 1;
                    if (x && t[x - 1][y][z] >= v)
                        v = t[x - 1][y][z] + 1;
                    if (y < Y - 1 && t[x][y + 1][z] >= v)
                        v = t[x][y + 1][z] + 1;
                    if (z && t[x][y][z - 2] >= v)
                        v = t[x][y][z - 2] + 1;
                    t[x][y][z] = v;
#pragma omp ordered depend(source)
                }
        for (int x = 0; x < X; x++)
            for (int y = 0; y < Y; y++)
                for (int z = 0; z < Z; z += 2)
                    CHECK(t[x][y][z] == 1 + x + (Y - 1 - y) + z / 2);
    }
    printf("%d\n", t[X - 1][0][Z - 1]);
    return check_end();
}
