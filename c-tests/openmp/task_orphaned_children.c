/* Children outlive their parent; grandchildren use data of the region (OpenMP 5.1, 2.12.1). */
#include "check.h"

static int tree;

static void grow(int depth)
{
#pragma omp atomic
    tree++;
    if (depth == 0)
        return;
    for (int i = 0; i < 4; i++) {
#pragma omp task
        grow(depth - 1);
    }
    /* Returns, and the parent task ends, before its children. */
}

int main(void)
{
    for (int n = 1; n <= 8; n++) {
        tree = 0;
#pragma omp parallel num_threads(n)
        {
#pragma omp single nowait
            {
#pragma omp task
                grow(6);
            }
        }
        CHECK(tree == 5461);
    }
    printf("%d\n", tree);
    return check_end();
}
