/* A library of starting_main.c that kills the process of one node while the nodes start. The variable DIES_AFTER says
   how many microseconds after the process was made; 0: at once. Nodes are made by two calls of fork each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int generation, after, lots[2];

static void in_child(void)
{
    char lot;
    /* One of the nodes takes the only lot. */
    if (++generation != 2 || read(lots[0], &lot, 1) != 1)
        return;
    if (after == 0)
        kill(getpid(), SIGKILL);
    /* The system call alone, so that this function is not called again. */
    pid_t node = getpid();
    if (syscall(SYS_fork) == 0) {
        usleep(after);
        kill(node, SIGKILL);
        _exit(0);
    }
}

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("DIES_AFTER");
    if (text && !pipe2(lots, O_NONBLOCK | O_CLOEXEC) && write(lots[1], "", 1) == 1) {
        after = atoi(text);
        pthread_atfork(NULL, NULL, in_child);
    }
}

int starting(void)
{
    return generation;
}
