/* Each PE puts its number and a signal to the next one, and waits for its own.
 *
 *   oshcc openshmem.c -o openshmem
 *   oshrun -n 4 ./openshmem
 */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>

static int from = -1; /* globals are symmetric */
static uint64_t arrived;

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_putmem_signal(&from, &me, sizeof me, &arrived, 1, SHMEM_SIGNAL_SET, (me + 1) % n);
    shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);
    printf("%d of %d, after %d\n", me, n, from);
    shmem_finalize();
}
