/* Programs that asked for two threads and notice how a loop is divided: by what a private variable carries from one
   iteration to the next, by a count of a thread's iterations, by what is done once a thread. They must keep two.
   hetmp-test: threads=2
   hetmp-test: way=asked */
#include "loop_check.h"

static int place[1000], twin[1000], first[1000], seen[1000], before[1000];

int main(void)
{
    enum { N = 1000 };
    int carried = 30;
#pragma omp parallel for firstprivate(carried) lastprivate(carried) num_threads(2) schedule(static)
    for (int i = 0; i < N; i++)
        carried = carried + i;
    printf("carried %d\n", carried);

#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            place[i] = count++;
    }
    printf("place %d %d\n", place[499], place[N - 1]);

#pragma omp parallel num_threads(2)
    {
        int count = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            twin[i] = count + i;
            count++;
        }
    }
    printf("twin %d %d\n", twin[499], twin[N - 1]);

    int firsts = 0;
#pragma omp parallel num_threads(2)
    {
        int fresh = 1;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            if (fresh)
                first[i] = 1;
            fresh = 0;
        }
    }
    for (int i = 0; i < N; i++)
        firsts += first[i];
    printf("firsts %d\n", firsts);

#pragma omp parallel num_threads(2)
    {
        int mine[8] = {0};
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            seen[i] = mine[i & 7]++;
    }
    printf("seen %d %d\n", seen[499], seen[N - 1]);

    int zeros = 0;
#pragma omp parallel num_threads(2)
    {
        int last = 0;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            before[i] = last;
            last = i + 1;
        }
    }
    for (int i = 0; i < N; i++)
        zeros += before[i] == 0;
    printf("zeros %d\n", zeros);

    int threads = 0;
#pragma omp parallel num_threads(2) reduction(+ : threads)
    {
        threads++;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            place[i] = i;
    }
    printf("threads %d\n", threads);

    int left = -1;
#pragma omp parallel num_threads(2)
    {
        int last = -1;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++) {
            last = place[i];
            twin[i] = last + 1;
        }
#pragma omp master
        left = last;
    }
    printf("left to the primary thread %d\n", left);

    int total = 0;
#pragma omp parallel num_threads(2)
    {
        int mine = 30;
#pragma omp for schedule(static)
        for (int i = 0; i < N; i++)
            mine += place[i];
#pragma omp atomic
        total += mine;
    }
    printf("total %d\n", total);
    return check_end();
}
