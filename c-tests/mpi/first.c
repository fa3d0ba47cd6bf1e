/* A first MPI program: sums over all ranks, each begun before some computing and waited for after. It knows MPI only.
 * scripts/demo goal runs it with and without libhetmp_mpi.so. */
#include <mpi.h>
#include <stdio.h>

enum { N = 128, ROUNDS = 10 };

int main(int argc, char **argv) {
    static long mine[N], sum[N];
    int me, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        for (int i = 0; i < N; i++) mine[i] = me + i + round;
        MPI_Iallreduce(mine, sum, N, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
        /* Computing: no call of MPI. */
        volatile double x = 1;
        for (int i = 0; i < 1000000; i++) x = x * 1.0000001;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; i++) {
            long wanted = (long)all * (i + round) + (long)all * (all - 1) / 2;
            if (sum[i] != wanted) {
                fprintf(stderr, "first: round %d: sum %d is %ld, not %ld\n", round, i, sum[i], wanted);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
    if (me == 0) printf("%d sums over %d ranks: right\n", ROUNDS, all);
    MPI_Finalize();
    return 0;
}
