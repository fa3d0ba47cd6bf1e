/* Each thread of a region posts its own put: a send queue for each, and no lock.
 *
 *   oshcc -fopenmp device.c -o device
 *   oshrun -n 2 ./device
 */
#include <hetmp/device.h>
#include <omp.h>
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 2 };
static uint64_t row[THREADS], halo[THREADS], arrived[THREADS];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), right = (me + 1) % shmem_n_pes();
    hetmp_device_queue queues[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (hetmp_device_queue_open(SHMEM_TEAM_WORLD, 64, &queues[i]))
            return 1;
#pragma omp parallel num_threads(THREADS)
    {
        int t = omp_get_thread_num();
        row[t] = me * 10 + t;
        hetmp_put_signal(&queues[t], right, &halo[t], &row[t], sizeof row[t], &arrived[t], 1);
        hetmp_ring(&queues[t]);
        hetmp_quiet(&queues[t]); /* row may be changed */
        hetmp_wait_until(&arrived[t], SHMEM_CMP_EQ, 1);
    }
    printf("PE %d has %d and %d\n", me, (int)halo[0], (int)halo[1]);
    for (int i = 0; i < THREADS; i++)
        hetmp_device_queue_close(&queues[i]);
    shmem_finalize();
}
