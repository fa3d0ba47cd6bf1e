/* Regions that print once how many threads they have: whatever team runs, the user reads the number that the program
   was given. The function goes by another name, because gcc would otherwise share the loop's own question with the
   printing. hetmp-test: way=fibers */
#include "loop_check.h"

int threads_now(void) __asm__("omp_get_num_threads");

enum { N = 4000, LAPS = 3 };
static double value[N];
static int kept;

/* Told. */
static __attribute__((noinline)) void by_first(int laps)
{
#pragma omp parallel
    {
#pragma omp master
        printf("%d threads\n", threads_now());
        for (int lap = 0; lap < laps; lap++) {
#pragma omp for
            for (int i = 0; i < N; i++) {
                value[i] += i;
                loop_hit(i);
            }
        }
    }
}

/* Told, in each lap by another thread perhaps. */
static __attribute__((noinline)) void by_any(int laps)
{
#pragma omp parallel
    for (int lap = 0; lap < laps; lap++) {
#pragma omp single
        fprintf(stdout, "lap %d of %d threads\n", lap, threads_now());
#pragma omp for
        for (int i = 0; i < N; i++)
            loop_hit(i);
    }
}

/* Not told: the number is kept, too, and must be that of the team. */
static __attribute__((noinline)) void stored(void)
{
    int seen = 0;
#pragma omp parallel reduction(+ : seen)
    {
        seen++;
#pragma omp master
        {
            int threads = threads_now();
            printf("%d threads again\n", threads);
            kept = threads;
        }
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < N; i++)
            loop_hit(i);
    }
    CHECK(seen == kept);
}

int main(void)
{
    for (int round = 0; round < 4; round++) {
        by_first(LAPS);
        LOOP_EXPECT(N, LAPS);
        by_any(LAPS);
        LOOP_EXPECT(N, LAPS);
        stored();
        LOOP_EXPECT(N, 1);
    }
    double total = 0;
    for (int i = 0; i < N; i++)
        total += value[i];
    printf("%.6e\n", total);
    return check_end();
}
