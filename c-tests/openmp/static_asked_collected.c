/* Programs that asked for two threads and notice how a loop is divided: by what each thread's memory keeps from one
   iteration to the next, or by variables that begin at zero and are no sums. They must keep two.
   hetmp-test: threads=2
   hetmp-test: way=asked */
#include "loop_check.h"

static int ranks[1000], letters[1000], *kept;
static double values[1000];

static void __attribute__((noinline)) keep(int *own, int i, int n)
{
    if (i == n - 1)
        kept = own;
}

int main(void)
{
    enum { N = 1000 };
    int m = 16;
    for (int i = 0; i < N; i++) {
        letters[i] = i * 7919 % 1009;
        values[i] = letters[i] & 3;
    }

    long sum = 0;
#pragma omp parallel num_threads(2)
    {
        int *seen = calloc(m, sizeof *seen);
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            ranks[i] = seen[letters[i] % m]++;
        free(seen);
    }
    for (int i = 0; i < N; i++)
        sum += ranks[i];
    printf("ranks %ld\n", sum);

#pragma omp parallel num_threads(2)
    {
        int *row = malloc(1024 * sizeof *row);
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            row[letters[i]] = i;
            keep(row, i, N);
        }
    }
    // Written in the second half by its only thread, long before the last iteration.
    printf("kept %d\n", kept[letters[N / 2]]);

    unsigned long hash = 0;
#pragma omp parallel num_threads(2)
    {
        unsigned long h = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            h = (h << 1) ^ letters[i];
#pragma omp atomic
        hash += h;
    }
    printf("hash %lu\n", hash);

    double turned = 0;
#pragma omp parallel num_threads(2)
    {
        double y = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            y = values[i] - y;
#pragma omp atomic
        turned += y;
    }
    printf("turned %g\n", turned);

    long last = 0;
#pragma omp parallel num_threads(2)
    {
        long mine = 0, where = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            mine += letters[i];
            if (letters[i] > 0)
                where = i;
        }
#pragma omp atomic
        last += mine + where;
    }
    printf("last %ld\n", last);

    double horner = 0;
#pragma omp parallel num_threads(2)
    {
        double y = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            y = y * 0.5 + values[i];
#pragma omp atomic
        horner += y;
    }
    printf("horner %.9g\n", horner);
    return 0;
}
