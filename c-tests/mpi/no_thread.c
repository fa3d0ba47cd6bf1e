/* Sums that are begun before some computing and waited for after. Rank 0 prints how many nanoseconds threads of
 * libhetmp_mpi.so have worked for them: none where the system or nobody moves them on; a thread that keeps files open
 * sleeps. It knows MPI only. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* The processor time of the threads named hetmp-..., which the kernel counts for each. */
static long long worked(void) {
    DIR *all = opendir("/proc/self/task");
    struct dirent *one;
    long long sum = 0, ns;
    while (all && (one = readdir(all))) {
        char path[300], name[32] = "";
        if (one->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", one->d_name);
        FILE *f = fopen(path, "r");
        if (f && !fgets(name, sizeof name, f)) name[0] = 0;
        if (f) fclose(f);
        snprintf(path, sizeof path, "/proc/self/task/%.20s/schedstat", one->d_name);
        f = strncmp(name, "hetmp", 5) == 0 ? fopen(path, "r") : NULL;
        if (f && fscanf(f, "%lld", &ns) == 1) sum += ns;
        if (f) fclose(f);
    }
    if (all) closedir(all);
    return sum;
}

int main(int argc, char **argv) {
    int me, all, wrong = 0;
    long long before = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    for (int round = -10; round < 100; round++) {
        double mine = me + 0.5 * round, sum = 0;
        MPI_Request request;
        if (round == 0) before = worked();
        MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        volatile double x = 1;
        for (int i = 0; i < 100000; i++) x = x * 1.0000001;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong += sum != all * (all - 1) / 2 + 0.5 * round * all;
    }
    if (me == 0) printf("no_thread: %d wrong, %lld ns\n", wrong, worked() - before);
    MPI_Finalize();
    return 0;
}
