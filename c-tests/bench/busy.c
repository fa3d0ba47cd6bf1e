// The other process on a busy machine: takes all of one core, given as the only
// argument, until it is killed or its parent ends. "any": the core that the
// kernel chooses, now and later.
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "hetmp: arguments of busy %d: one core number, or any\n", argc - 1);
        return 2;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(argv[1]), &set);
    if (strcmp(argv[1], "any") && sched_setaffinity(0, sizeof set, &set) != 0) {
        fprintf(stderr, "hetmp: core %s: a core this process may run on\n", argv[1]);
        return 2;
    }
    // Never outlive the benchmark, however it ends.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(600);
    // The reader knows by this line that the load has begun.
    puts("busy");
    fflush(stdout);
    for (volatile unsigned long turns = 0;; turns++)
        ;
}
