/* The same question by its own name, as programs ask it (see static_told.c). At this level neither compiler shares the
   loop's own question with the printing.
   hetmp-test: flags=-O1
   hetmp-test: way=fibers */
#include "loop_check.h"

enum { N = 4000 };
static double value[N];

static __attribute__((noinline)) void shown(int laps)
{
#pragma omp parallel
    {
#pragma omp master
        printf("%d threads\n", omp_get_num_threads());
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < N; i++) {
            value[i] += i * laps;
            loop_hit(i);
        }
    }
}

/* Outside of regions the answer is 1, also after such a region. */
static __attribute__((noinline)) int team(void)
{
    return omp_get_num_threads();
}

int main(void)
{
    for (int round = 0; round < 6; round++) {
        shown(round);
        LOOP_EXPECT(N, 1);
        CHECK(team() == 1);
        CHECK(omp_get_num_threads() == 1);
    }
    double total = 0;
    for (int i = 0; i < N; i++)
        total += value[i];
    printf("%.6e\n", total);
    return check_end();
}
