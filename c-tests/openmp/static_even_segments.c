/* Each thread fills a segment of an array, as long as an equal part: a larger part would not fit. The number of threads
   that the segments are made for was asked before the region, and asked for.
   hetmp-test: threads=2,3
   hetmp-test: way=thread-number */
#include "loop_check.h"

int main(void)
{
    enum { N = 4000 };
    int threads = omp_get_max_threads();
    long segment = (N + threads - 1) / threads;
    int *out = calloc((size_t)(segment * threads) + 64, sizeof *out);
    long sum = 0;
    for (int round = 0; round < 6; round++) {
        memset(out, 0, ((size_t)(segment * threads) + 64) * sizeof *out);
#pragma omp parallel num_threads(threads)
        {
            int *mine = out + omp_get_thread_num() * segment;
            long k = 0;
#pragma omp for
            for (int i = 0; i < N; i++)
                mine[k++] = i + 1;
        }
        for (long i = 0; i < segment * threads + 64; i++)
            sum += out[i];
        for (long i = 0; i < 64; i++)
            CHECK(out[segment * threads + i] == 0);
    }
    printf("%ld\n", sum);
    free(out);
    return check_end();
}
