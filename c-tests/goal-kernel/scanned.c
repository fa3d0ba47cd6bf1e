/* A scanner of another user looks for what listens while the ranks meet over TCP, and calls all of it: one call says
 * nothing, one noise, one claims to be a rank and sends the proof that it was shown back. Nobody answers it as a rank,
 * and the job goes on. Root's, in a network namespace of its own, where nothing else listens. */
#define _GNU_SOURCE
#include "../goal/gtest.h"
#include <arpa/inet.h>
#include <grp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, GREETING = 48, PROOF = 32 };

/* What the other end says in ten seconds, until it hangs up. */
static size_t hear(int sock, char *said, size_t most, size_t enough)
{
    struct pollfd p = {sock, POLLIN, 0};
    size_t all = 0;
    while (all < enough) {
        ssize_t n;
        CHECK(poll(&p, 1, 10000) == 1);
        n = read(sock, said + all, most - all);
        if (n <= 0)
            break;
        all += (size_t)n;
    }
    return all;
}

static int call_tcp(unsigned address, unsigned port, const void *words, size_t n)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port),
                             .sin_addr.s_addr = address};
    int sock = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(sock >= 0 && connect(sock, (struct sockaddr *)&to, sizeof to) == 0);
    CHECK(n == 0 || send(sock, words, n, MSG_NOSIGNAL) == (ssize_t)n);
    return sock;
}

/* Calls what listens by TCP: three calls of each. Returns their number. */
static int scan_tcp(int *calls, int most)
{
    FILE *list = fopen("/proc/net/tcp", "r");
    char line[512], greeting[GREETING] = "hetmpnic\2\0\0\0\1\0\0\0";
    unsigned address, port, state;
    int n = 0;
    memset(greeting + 16, 7, GREETING - 16);
    while (fgets(line, sizeof line, list)) {
        if (sscanf(line, " %*d: %8X:%4X %*8X:%*4X %2X", &address, &port, &state) != 3 || state != 10 || n + 3 > most)
            continue;
        calls[n++] = call_tcp(address, port, "", 0);
        calls[n++] = call_tcp(address, port, line, sizeof line);
        calls[n++] = call_tcp(address, port, greeting, GREETING);
    }
    fclose(list);
    return n;
}

/* Calls what listens by names that are no files. Returns how many there are; each has said who may call, and hung up.
   */
static int scan_names(void)
{
    FILE *list = fopen("/proc/net/unix", "r");
    char line[512], said[512];
    int n = 0;
    while (fgets(line, sizeof line, list)) {
        struct sockaddr_un to = {.sun_family = AF_UNIX};
        unsigned flags;
        int at = 0, sock;
        if (sscanf(line, "%*x: %*x %*x %x %*x %*x %*u @%n", &flags, &at) != 1 || at == 0 || !(flags & 0x10000))
            continue;
        line[strcspn(line, "\n")] = 0;
        strncpy(to.sun_path + 1, line + at, sizeof to.sun_path - 2);
        sock = socket(AF_UNIX, SOCK_STREAM, 0);
        CHECK(connect(sock, (struct sockaddr *)&to,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(line + at))) == 0);
        memset(said, 0, sizeof said);
        CHECK(memmem(said, hear(sock, said, sizeof said - 1, sizeof said), "another user's process", 22) != NULL);
        close(sock);
        n++;
    }
    fclose(list);
    return n;
}

/* The scanner. Writes one byte when it has called all, and ends with status 0 when it was turned away by all. */
static void scan(int tell)
{
    int calls[48], n = 0, i;
    char said[512];
    CHECK(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
    while (n == 0) {
        n = scan_tcp(calls, 48);
        usleep(1000);
    }
    CHECK(scan_names() > 0);
    CHECK(write(tell, "", 1) == 1);
    for (i = 0; i < n; i++) {
        size_t heard = 0;
        if (i % 3 == 2) {
            heard = hear(calls[i], said, sizeof said, GREETING + PROOF);
            CHECK(heard == 0 || heard == GREETING + PROOF);
            if (heard)
                send(calls[i], said + GREETING, PROOF, MSG_NOSIGNAL);
        }
        /* Neither a greeting for silence or noise, nor a welcome. */
        CHECK(hear(calls[i], said, sizeof said, sizeof said) == 0);
    }
    _exit(0);
}

int main(void)
{
    const char *job = getenv("HETMP_JOB"); /* the launcher's name, the rank, the secret */
    const char *rank = job ? strchr(job, ':') : NULL;
    int tell[2], status = 0, i;
    long give, get;
    char byte;
    pid_t scanner = 0;
    gtest_name = "scanned";
    if (rank && atoi(rank + 1) == 1) {
        CHECK(pipe(tell) == 0);
        scanner = fork();
        if (scanner == 0)
            scan(tell[1]);
        close(tell[1]);
        /* The other rank listens, and waits for this one. */
        CHECK(read(tell[0], &byte, 1) == 1);
    }
    begin("scanned");
    for (i = 0; i < 100; i++) {
        give = me() + i;
        CHECK(goal_allreduce(&give, &get, 1, GOAL_LONG, GOAL_ADD) == GOAL_SUCCESS && get == 2 * i + 1);
    }
    if (scanner)
        CHECK(waitpid(scanner, &status, 0) == scanner && status == 0);
    CHECK(ranks() == 2);
    return finish();
}
