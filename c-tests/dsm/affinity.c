/* OMP_DISPLAY_AFFINITY in regions that cross nodes: each thread of the region, on whichever node, prints one line,
 * again only when the region's size changes. The lines go to standard error. */
#include <omp.h>
#include <stdio.h>

int main(void) {
    int sum = 0;
    for (int size = 4; size >= 3; size--)
        for (int i = 0; i < 2; i++) {
#pragma omp parallel num_threads(size) reduction(+ : sum)
            sum += omp_get_num_threads();
        }
    printf("%d\n", sum);
    return 0;
}
