/* A slave that crashes is named before the process ends by the signal; the handlers of a program stay its own.
 * Argument: segv, fpe, abort, stack (overflow), sent (by the program itself), master (crashes itself), own (handles
 * it). */
#include "mq_check.h"

#include <signal.h>
#include <unistd.h>

static volatile int zero;

static int deeper(volatile char *above) {
    volatile char here[4096];
    here[0] = *above;
    return here[0] == 'x' ? 0 : deeper(here) + here[0];
}

static void slave(void *arg) {
    const char *what = arg;
    if (sGetSlaveId() != 1) {
        /* Still there when the other crashes. */
        for (;;) usleep(1000);
    }
    if (!strcmp(what, "segv") || !strcmp(what, "own")) *(volatile int *)(uintptr_t)zero = 1; /* LINE segv */
    if (!strcmp(what, "fpe")) zero = 7 / zero;
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "stack")) zero = deeper((volatile char *)what);
    if (!strcmp(what, "sent")) raise(SIGSEGV);
    for (;;) usleep(1000);
}

static void own(int signal) {
    (void)signal;
    puts("passed");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv) {
    char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "own")) signal(SIGSEGV, own);
    ThreadID t = mStartSlaveThreads(0, 3, (void *)slave, what);
    if (!strcmp(what, "master")) *(volatile int *)(uintptr_t)zero = 1;
    mWaitSlaveThreads(t);
    puts("not reached");
    return 1;
}
