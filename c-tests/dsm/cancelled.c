/* Threads that are cancelled while they wait in system calls or compute, and threads that call pthread_exit: their
   cleanup runs, and who joins them is told. A mask of signals lasts until the program changes it. vfork shares memory
   until exec. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WAYS = 11, ROUNDS = 10, BYTES = 100000 };
static int ends[2], sockets[2];
static sem_t ready, never;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int cleaned[WAYS], asked;
static long cells[4096];

struct one {
    int how;
    char *bytes;
};

static void clean(void *argument)
{
    struct one *one = argument;
    free(one->bytes);
    cleaned[one->how]++;
    if (one->how == 3)
        pthread_mutex_unlock(&lock);
}

static void *waits(void *argument)
{
    struct one one = {*(int *)argument, malloc(BYTES)};
    int old;
    pthread_cleanup_push(clean, &one);
    if (one.how == 3)
        pthread_mutex_lock(&lock);
    sem_post(&ready);
    switch (one.how) {
    case 0:
        (void)!read(ends[0], one.bytes, BYTES);
        break;
    case 1:
        pause();
        break;
    case 2:
        sem_wait(&never);
        break;
    case 3:
        for (;;)
            pthread_cond_wait(&changed, &lock);
        break;
    case 4: {
        struct timespec long_time = {1000, 0};
        nanosleep(&long_time, NULL);
        break;
    }
    case 5: {
        /* Cancelled only at the point behind. */
        struct timespec some = {0, 1000000};
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
        while (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE))
            if (nanosleep(&some, NULL) != 0)
                printf("interrupted: %d\n", errno);
        pthread_setcancelstate(old, NULL);
        pthread_testcancel();
        break;
    }
    case 6: {
        struct iovec part = {one.bytes, 100};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        recvmsg(sockets[0], &message, 0);
        break;
    }
    case 7: {
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        select(ends[0] + 1, &set, NULL, NULL, NULL);
        break;
    }
    case 8: {
        struct pollfd *what = (struct pollfd *)one.bytes;
        what->fd = ends[0];
        what->events = POLLIN;
        poll(what, 1, -1);
        break;
    }
    case 9:
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
        for (;;)
            ((volatile char *)one.bytes)[0]++;
    case 10:
        pthread_exit(PTHREAD_CANCELED);
    }
    pthread_cleanup_pop(0);
    return NULL;
}

/* The memory that the threads use was last written by another node. */
static void region(void)
{
#pragma omp parallel for num_threads(4) schedule(static)
    for (int i = 0; i < 4096; i++)
        cells[i] += i;
}

int main(void)
{
    /* Blocked in this thread, and in all that it starts: the signal waits until somebody takes it. */
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        return 2;
    sem_init(&ready, 0, 0);
    sem_init(&never, 0, 0);
    for (int round = 0; round < ROUNDS; round++) {
        region();
        for (int how = 0; how < WAYS; how++) {
            pthread_t thread;
            void *result = NULL;
            asked = 0;
            if (pthread_create(&thread, NULL, waits, &how) != 0)
                return 2;
            sem_wait(&ready);
            /* At once, and when the thread certainly waits. */
            if (round % 2)
                usleep(2000);
            if (how != 10)
                pthread_cancel(thread);
            __atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
            pthread_join(thread, &result);
            if (result != PTHREAD_CANCELED)
                printf("round %d, %d: not cancelled\n", round, how);
        }
    }
    for (int how = 0; how < WAYS; how++)
        printf("%d ", cleaned[how]);
    printf("cleaned\n");

    sigprocmask(SIG_BLOCK, NULL, &before);
    struct timespec limit = {5, 0};
    kill(getpid(), SIGUSR1);
    printf("blocked %d, taken %d\n", sigismember(&before, SIGUSR1), sigtimedwait(&set, NULL, &limit) == SIGUSR1);

    volatile int seen = 0;
    int status = 0;
    fflush(stdout);
    pid_t child = vfork();
    if (child == 0) {
        seen = 7;
        execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
        _exit(1);
    }
    waitpid(child, &status, 0);
    region();
    printf("vfork %d, seen %d, cells %ld\n", WEXITSTATUS(status), seen, cells[4095]);
    return 0;
}
