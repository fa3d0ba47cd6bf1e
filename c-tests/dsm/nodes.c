/* Shows that the threads of a region are in several processes, each with its own file behind a global variable. The
   calls of the region are not known to work across nodes, so HETMP_DSM_TRUST=1 is needed. */
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int pid[64];
static unsigned long inode[64];

static unsigned long inode_of(const void *where)
{
    char line[512];
    unsigned long found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to, number;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &from, &to, &number) == 3 && from <= (unsigned long)where &&
            (unsigned long)where < to)
            found = number;
    }
    if (maps)
        fclose(maps);
    return found;
}

int main(void)
{
    int threads = 0;
#pragma omp parallel
    {
        int t = omp_get_thread_num();
        pid[t] = getpid();
        inode[t] = inode_of(&pid);
        if (t == 0)
            threads = omp_get_num_threads();
    }
    int pids = 0, inodes = 0;
    for (int i = 0; i < threads; i++) {
        int p = 1, n = 1;
        for (int j = 0; j < i; j++) {
            p &= pid[i] != pid[j];
            n &= inode[i] != inode[j];
        }
        pids += p;
        inodes += n;
    }
    printf("threads %d pids %d inodes %d\n", threads, pids, inodes);
    return 0;
}
