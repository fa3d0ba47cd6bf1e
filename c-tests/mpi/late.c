/* A program that opens MPI after its start, as Python does with mpi4py. Compiled with -DMODULE and mpicc: the module
 * that is linked with MPI. Without: the program, which opens the module named by its argument, out of everybody else's
 * sight. */
#include <stdio.h>
#ifdef MODULE
#include <mpi.h>
int go(void)
{
    int rank, one = 1, sum = 0;
    MPI_Request request;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("late: %d ranks\n", sum);
    MPI_Finalize();
    return sum == 0;
}
#else
#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*go)(void) = module ? (int (*)(void))dlsym(module, "go") : NULL;
    if (!go) {
        fprintf(stderr, "late: %s\n", dlerror());
        return 1;
    }
    return go();
}
#endif
