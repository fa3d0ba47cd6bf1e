/* Loops that look as if they dealt out single iterations, and know the threads: they keep the team that they have.
   hetmp-test: threads=2
   hetmp-test: way=thread-number */
#include "loop_check.h"

static long own[2][16], laps[2];
static int seen[3000];

static __attribute__((noinline)) void visit(int i)
{
    seen[i]++;
}

int main(void)
{
    enum { N = 3000 };
    for (int turn = 0; turn < 40; turn++) {
        /* An array with a place for each thread. */
#pragma omp parallel
        {
            int me = omp_get_thread_num(), team = omp_get_num_threads();
            for (int i = me; i < N; i += team)
                own[me][0] += i;
        }

        /* How often a thread went around. */
#pragma omp parallel
        {
            int me = omp_get_thread_num(), team = omp_get_num_threads(), i, mine = 0;
            for (i = me; i < N; i += team) {
                visit(i);
                mine++;
            }
            laps[i - N] += mine;
        }

        /* Only two may take part, each with every second one. */
#pragma omp parallel
        {
            int i = omp_get_thread_num(), team = omp_get_num_threads();
            if (i < 2)
                do {
                    visit(i);
                    i += team;
                } while (i < N);
        }
    }
    long sum = 0;
    for (int i = 0; i < N; i++) {
        CHECK(seen[i] == 80);
        sum += i;
    }
    CHECK(own[0][0] + own[1][0] == 40 * sum);
    CHECK(laps[0] == 40 * N / 2 && laps[1] == 40 * N / 2);
    return check_end();
}
