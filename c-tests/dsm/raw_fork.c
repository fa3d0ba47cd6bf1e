/* A process forked by the bare system call, which no library sees: it must not change the program's memory. */
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long written = 1;
static long values[4096];

int main(void) {
    long sum = 0;
    for (int lap = 0; lap < 3; lap++) {
        long child = syscall(SYS_fork);
        if (child == 0) {
            written = 99;
            for (int i = 0; i < 4096; i++) values[i] = -1;
            _exit(0);
        }
        int status = 0;
        if (child > 0) waitpid((pid_t)child, &status, 0);
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < 4096; i++) values[i] += i;
    }
    for (int i = 0; i < 4096; i++) sum += values[i];
    printf("written %ld, sum %ld\n", written, sum);
    return 0;
}
