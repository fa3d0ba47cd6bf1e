// Data, then a flag: without shmem_fence between them the flag may arrive first. A processor that is coherent rarely
// shows it; HETMP_NIC_MODEL=gpu,check names both puts. An argument puts the fence in.
#include <shmem.h>
#include <stdio.h>

static long data[64], flag;

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    (void)argv;
    if (me == 0) {
        long source[64];
        for (int i = 0; i < 64; i++)
            source[i] = i + 1;
        shmem_put(data, source, 64, 1);
        if (argc > 1)
            shmem_fence();
        shmem_p(&flag, 1, 1);
    } else if (me == 1) {
        shmem_wait_until(&flag, SHMEM_CMP_EQ, 1);
        long sum = 0;
        for (int i = 0; i < 64; i++)
            sum += data[i];
        printf("sum %ld of 2080\n", sum);
    }
    shmem_finalize();
    return 0;
}
