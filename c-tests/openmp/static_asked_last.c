/* Programs that asked for two threads and take what the last iteration left: its number, an inner loop's index. They
   may be divided into more pieces.
   hetmp-test: threads=2
   hetmp-test: way=virtual-team */
#include "loop_check.h"

static int raised[1000], rows[1000];

int main(void)
{
    enum { N = 1000 };
    int i;
#pragma omp parallel for lastprivate(i) num_threads(2)
    for (i = 0; i < N; i++)
        raised[i] += i;
    printf("last index %d, %d\n", i, raised[N - 1]);

    int inner = -1, width = raised[7];
#pragma omp parallel for firstprivate(inner) lastprivate(i, inner) num_threads(2)
    for (i = 0; i < N; i++)
        for (inner = 0; inner < width; inner++)
            rows[i] += i + inner;
    printf("last indices %d %d, %d\n", i, inner, rows[N - 1]);

    int none = -7;
    width = raised[0];
#pragma omp parallel for firstprivate(none) lastprivate(none) num_threads(2)
    for (i = 0; i < N; i++)
        for (none = 3; none < width; none++)
            rows[i]++;
    printf("no inner iteration: %d\n", none);
    return 0;
}
