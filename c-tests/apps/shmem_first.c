// A first OpenSHMEM program: every PE works out a part of pi, PE 0 gets the sum; then a word goes round.
#include <shmem.h>
#include <stdio.h>

static double part, sum;
static long word;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();

    enum { STEPS = 1 << 22 };
    for (long i = me; i < STEPS; i += n) {
        double x = (i + 0.5) / STEPS;
        part += 4 / (1 + x * x) / STEPS;
    }
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &part, 1);

    if (me == 0)
        shmem_p(&word, 1, 1 % n);
    shmem_wait_until(&word, SHMEM_CMP_NE, 0);
    if (me != 0)
        shmem_p(&word, word + 1, (me + 1) % n);
    shmem_barrier_all();

    if (me == 0)
        printf("%d PEs: pi = %.9f, the word has been on %ld of them\n", n, sum, word);
    shmem_finalize();
    return 0;
}
