/* What may go wrong on another node while a region runs (HETMP_DSM_TRUST=1). The argument says what:
     barrier   a node is killed while all other threads wait at a barrier
     lock      a node is killed while it holds a lock for which all others wait
     critical  the same, with a critical section
     page      a node is killed that has written the page that all others want
     exit      a thread of a node ends its process
     idle      a node is killed while no region runs
     replace   main starts another program in its process
     origin    the origin is killed
     cut       all threads write the same page until the network is cut; the second argument is a file to be made first
     away      main sleeps until the network is cut; the second argument is a file to be made first
     exec      a thread of a node starts another program in its process
     fork      every thread tries to fork
     dlopen    every thread opens a library that the nodes do not share (the second argument) */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refused, words[4][1024], last;

/* The last thread, which is on the last node, does it. */
static int is_last(void)
{
    return omp_get_thread_num() == omp_get_num_threads() - 1;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int is_barrier = !strcmp(what, "barrier"), is_lock = !strcmp(what, "lock"), is_critical = !strcmp(what, "critical"),
        is_page = !strcmp(what, "page"), is_cut = !strcmp(what, "cut"), is_exit = !strcmp(what, "exit"),
        is_exec = !strcmp(what, "exec"), is_fork = !strcmp(what, "fork"), is_dlopen = !strcmp(what, "dlopen");
    const char *library = argc > 2 ? argv[2] : "";
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(4)
    {
        words[omp_get_thread_num()][0] = 1;
        if (is_last())
            last = getpid();
        if (is_barrier && is_last()) {
            usleep(100000);
            raise(SIGKILL);
        }
        if (is_exit && is_last())
            exit(0);
        if (is_exec && is_last())
            execl("/bin/true", "true", (char *)NULL);
        if (is_lock && is_last())
            omp_set_lock(&lock);
        if (is_page && is_last())
            for (int t = 0; t < 4; t++)
                for (int i = 0; i < 1024; i++)
                    words[t][i] = 7;
        if (is_fork && fork() < 0 && errno)
#pragma omp atomic
            refused++;
        if (is_dlopen && !dlopen(library, RTLD_NOW))
#pragma omp atomic
            refused++;
        if (!is_critical) {
#pragma omp barrier
        }
        if ((is_lock || is_page) && is_last()) {
            usleep(100000);
            raise(SIGKILL);
        }
        if (is_lock)
            omp_set_lock(&lock);
        if (is_cut && is_last())
            fclose(fopen(library, "w"));
        if (is_page || is_cut)
            for (;;)
#pragma omp atomic
                words[0][0]++;
        if (is_critical) {
#pragma omp critical
            if (is_last()) {
                usleep(100000);
                raise(SIGKILL);
            }
#pragma omp barrier
        }
    }
    if (!strcmp(what, "away")) {
        fclose(fopen(library, "w"));
        sleep(200);
    }
    if (!strcmp(what, "idle")) {
        kill(last, SIGKILL);
        sleep(100);
    }
    if (!strcmp(what, "replace"))
        execl("/bin/echo", "echo", "another program", (char *)NULL);
    if (!strcmp(what, "origin"))
        raise(SIGKILL);
    printf("%s: refused %d times\n", what, refused);
    return 0;
}
