/* Programs that asked for two threads and whose last iteration need not have written what is taken from it: then it is
   what an earlier iteration of the same chunk left, or what was there before. They must keep two chunks.
   hetmp-test: threads=2
   hetmp-test: way=asked */
#include "loop_check.h"

static int from[1000], lengths[1000], half[1000];

int main(void)
{
    enum { N = 1000 };
    for (int i = 0; i < N; i++)
        from[i] = i == 300 || i == 700 ? i : 0;

    int found = -1;
#pragma omp parallel for firstprivate(found) lastprivate(found) num_threads(2)
    for (int i = 0; i < N; i++)
        if (from[i])
            found = from[i];
    printf("the last that is set, of the second half: %d\n", found);

    int place = -1;
#pragma omp parallel for firstprivate(place) lastprivate(place) num_threads(2)
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < from[i]; j += 100)
            place = i;
        lengths[i] = i;
    }
    printf("its place: %d %d\n", place, lengths[N - 1]);

    /* By hand, as the compiler does it. */
    int length = 0;
#pragma omp parallel num_threads(2)
    {
        int team = omp_get_num_threads(), me = omp_get_thread_num();
        int q = N / team, r = N % team;
        if (me < r) {
            q++;
            r = 0;
        }
        int begin = q * me + r, end = begin + q;
        for (int i = begin; i < end; i++)
            half[i] = i;
        if (end == N)
            length = end - begin;
    }
    printf("the last chunk has %d\n", length);
    return 0;
}
