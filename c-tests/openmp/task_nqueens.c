/* n-queens with a task a placement, boards copied into the tasks (OpenMP 5.1, 2.12.1). */
#include "check.h"

static int solutions;

struct board {
    char column[9];
};

static void place(int row, struct board b)
{
    if (row == 9) {
#pragma omp atomic
        solutions++;
        return;
    }
    for (int c = 0; c < 9; c++) {
        int fits = 1;
        for (int r = 0; r < row; r++)
            fits &= b.column[r] != c && abs(b.column[r] - c) != row - r;
        if (!fits)
            continue;
        struct board next = b;
        next.column[row] = (char)c;
#pragma omp task firstprivate(next)
        place(row + 1, next);
    }
#pragma omp taskwait
}

int main(void)
{
    struct board empty = {{0}};
#pragma omp parallel
#pragma omp single
    place(0, empty);
    printf("%d\n", solutions);
    CHECK(solutions == 352);
    return check_end();
}
