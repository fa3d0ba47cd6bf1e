/* A program's own use of descriptors, which may hit those of a runtime: it closes what it did not open, takes numbers
   that it believes free, and expects the lowest one. After each step `work(step)` is called. SAY prints what the
   program itself sees. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SAY
#define SAY printf
#endif

/* Whether the program also closes what has a number above 1023. */
static int closes_all = 1;

static void close_from_3(void) {
    if (closes_all) closefrom(3);
    else for (int fd = 3; fd < 1024; fd++) close(fd);
}

static int is_null(int fd) {
    struct stat s, null;
    return fstat(fd, &s) == 0 && stat("/dev/null", &null) == 0 && s.st_rdev == null.st_rdev;
}

static void use_descriptors(void (*work)(const char *)) {
    work("first");
    for (int fd = 3; fd < 1024; fd++) close(fd);
    SAY("the lowest is %d\n", open("/dev/null", O_RDWR));
    work("close");
    syscall(SYS_close_range, 3u, closes_all ? ~0u : 1023u, 0u);
    work("close_range");
    close_from_3();
    work("closefrom");

    /* Every number up to 199 is the program's, and stays what it made of it. */
    int null = open("/dev/null", O_RDWR), wrong = 0;
    for (int fd = 3; fd < 200; fd++)
        if (fd != null) (fd % 2 ? dup2(null, fd) : dup3(null, fd, O_CLOEXEC));
    work("dup2");
    for (int fd = 3; fd < 200; fd++) wrong += !is_null(fd);
    for (int fd = 3; fd < 200; fd++) close(fd);
    SAY("%d numbers are not the program's\n", wrong);
    null = open("/dev/null", O_RDWR);
    for (int i = 0; i < 100; i++) fcntl(null, F_DUPFD, 3);
    work("F_DUPFD");
    for (int fd = 3; fd < 1024; fd++) wrong += fcntl(fd, F_GETFD) >= 0 && !is_null(fd);
    close_from_3();
    SAY("%d numbers are not the program's\n", wrong);

    /* Bytes and a pipe's end reach the program alone. */
    int ends[2], took = pipe(ends);
    char text[8] = "";
    took += write(ends[1], "bytes", 5);
    work("pipe");
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timeval soon = {10, 0};
    int ready = select(ends[0] + 1, &set, 0, 0, &soon);
    took += read(ends[0], text, 7);
    close(ends[1]);
    ready += select(ends[0] + 1, &set, 0, 0, &soon);
    SAY("pipe %d, %d ready, %s, end %d\n", took, ready, text, (int)read(ends[0], text, 7));
    close(ends[0]);

    struct rlimit limit, none = {0, 0};
    getrlimit(RLIMIT_NOFILE, &limit);
    none.rlim_max = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &none);
    work("RLIMIT_NOFILE");
    SAY("no more descriptors: %d\n", open("/dev/null", O_RDONLY));
    setrlimit(RLIMIT_NOFILE, &limit);
    work("last");

    int kept = dup(2);
    null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 2);
    work("standard error");
    dup2(kept, 2);
    close_from_3();
}
