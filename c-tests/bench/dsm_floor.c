/* The least that a page fault between two processes of this machine costs by userfaultfd: what dsm_bench measures,
   without a protocol. Two processes map a file each. In the first one, two threads wait for the faults of either
   process, and do with the system calls of the library what each kind of fault needs, and nothing else.

   Prints a line for each kind, as dsm_bench does: its name, then median, 99th percentile, smallest and largest of the
   samples, microseconds.
     bare        a fault that is answered with a page of the thread's own, in another process
     read        and the page is write-protected in the first process, and copied from there
     upgrade     and the page is removed from the first process, and may be written in the second
     handed      and the page is removed from the first process, copied from there, and may be written in the second
     dirty       and the page is protected, copied and removed in the second process, and put in place in the first
   Ends with status 77 where userfaultfd is refused. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 256, ROUNDS = 8, SAMPLES = PAGES * ROUNDS };

struct process {
    int file, uffd;
    char *view, *alias;
};

static struct process one, two;
static char buffer[2][PAGE] __attribute__((aligned(4096)));
/* The kind of fault that is measured now; both processes map it. */
enum kind { BARE, READ, UPGRADE, HANDED, DIRTY, KINDS };
static volatile enum kind *kind;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * t.tv_sec + t.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The CPUs are divided as the library does: the first half is the first process's. */
static cpu_set_t all;

static void stay_on(int process)
{
    cpu_set_t part;
    int count = CPU_COUNT(&all), seen = 0;
    CPU_ZERO(&part);
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &all) && (seen++ < count / 2) == (process == 0))
            CPU_SET(c, &part);
    if (count >= 2 && sched_setaffinity(0, sizeof part, &part))
        fail("sched_setaffinity");
}

static void control(int uffd, unsigned long request, void *words, const char *what)
{
    if (ioctl(uffd, request, words))
        fail(what);
}

static void watch(struct process *p)
{
    p->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {UFFD_API,
                             UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM |
                                 UFFD_FEATURE_WP_HUGETLBFS_SHMEM,
                             0};
    if (p->uffd < 0 || ioctl(p->uffd, UFFDIO_API, &api)) {
        perror("userfaultfd");
        exit(77);
    }
    struct uffdio_register all = {{(unsigned long)p->view, PAGES * PAGE},
                                  UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP | UFFDIO_REGISTER_MODE_MINOR,
                                  0};
    control(p->uffd, UFFDIO_REGISTER, &all, "UFFDIO_REGISTER");
}

static void make(struct process *p, const char *name)
{
    p->file = memfd_create(name, MFD_CLOEXEC);
    if (p->file < 0 || ftruncate(p->file, PAGES * PAGE))
        fail("memfd_create");
    p->view = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p->file, 0);
    p->alias = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, p->file, 0);
    if (p->view == MAP_FAILED || p->alias == MAP_FAILED)
        fail("mmap");
}

static void protect(struct process *p, size_t offset, int may_write)
{
    struct uffdio_writeprotect w = {{(unsigned long)p->view + offset, PAGE},
                                    may_write ? 0 : UFFDIO_WRITEPROTECT_MODE_WP};
    control(p->uffd, UFFDIO_WRITEPROTECT, &w, "UFFDIO_WRITEPROTECT");
}

static void copy(struct process *p, size_t offset, char *from, int may_write)
{
    struct uffdio_copy c = {(unsigned long)p->view + offset, (unsigned long)from, PAGE,
                            may_write ? 0 : UFFDIO_COPY_MODE_WP, 0};
    control(p->uffd, UFFDIO_COPY, &c, "UFFDIO_COPY");
}

static void serve_one(struct process *p, int mine)
{
    struct uffd_msg m;
    if (read(p->uffd, &m, sizeof m) != sizeof m)
        fail("read");
    size_t at = (m.arg.pagefault.address & ~(PAGE - 1UL)) - (unsigned long)p->view;
    char *bytes = buffer[mine];
    switch (*kind) {
    case BARE:
        copy(p, at, bytes, 1);
        break;
    case READ:
        protect(&one, at, 0);
        memcpy(bytes, one.alias + at, PAGE);
        copy(&two, at, bytes, 0);
        break;
    case UPGRADE:
        if (madvise(one.view + at, PAGE, MADV_DONTNEED))
            fail("MADV_DONTNEED");
        protect(&two, at, 1);
        break;
    case HANDED:
        if (madvise(one.view + at, PAGE, MADV_DONTNEED))
            fail("MADV_DONTNEED");
        memcpy(bytes, one.alias + at, PAGE);
        copy(&two, at, bytes, 1);
        break;
    default:
        protect(&two, at, 0);
        memcpy(bytes, two.alias + at, PAGE);
        if (madvise(two.alias + at, PAGE, MADV_REMOVE))
            fail("MADV_REMOVE");
        memcpy(one.alias + at, bytes, PAGE);
        struct uffdio_continue c = {{(unsigned long)one.view + at, PAGE}, 0, 0};
        control(one.uffd, UFFDIO_CONTINUE, &c, "UFFDIO_CONTINUE");
    }
}

static void *serve(void *which)
{
    struct process *p = which;
    stay_on(p == &two);
    for (;;)
        serve_one(p, p == &two);
    return NULL;
}

/* Receives (`fd` < 0) or sends a descriptor. */
static int pass(int socket, int fd)
{
    char byte = 0, room[CMSG_SPACE(sizeof fd)] __attribute__((aligned(8)));
    struct iovec part = {&byte, 1};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    if (fd < 0) {
        if (recvmsg(socket, &head, 0) != 1 || !CMSG_FIRSTHDR(&head))
            exit(77);
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&head)), sizeof fd);
        return fd;
    }
    struct cmsghdr *h = CMSG_FIRSTHDR(&head);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
    if (sendmsg(socket, &head, 0) != 1)
        fail("sendmsg");
    return fd;
}

/* Each process waits for the other one's byte between its turns. */
static void turn(int to, int from, int last)
{
    char byte = 0;
    if (to >= 0 && write(to, &byte, 1) != 1)
        fail("write");
    if (!last && read(from, &byte, 1) != 1)
        exit(1);
}

static double us[KINDS][SAMPLES];
static int counts[KINDS];

#define EACH_PAGE(p, k, access)                               \
    for (int i = 0; i < PAGES; i++) {                         \
        volatile char *at = (p)->view + (size_t)i * PAGE;     \
        double begin = now();                                 \
        access;                                               \
        us[k][counts[k]++] = now() - begin;                   \
    }

static void print(enum kind from, enum kind to)
{
    static const char *const names[] = {"bare", "read", "upgrade", "handed", "dirty"};
    for (enum kind k = from; k <= to; k++) {
        qsort(us[k], counts[k], sizeof us[k][0], ascending);
        printf("%s %.2f %.2f %.2f %.2f\n", names[k], us[k][counts[k] / 2], us[k][counts[k] * 99 / 100], us[k][0],
               us[k][counts[k] - 1]);
    }
    fflush(stdout);
}

int main(void)
{
    int door[2], there[2], back[2];
    sched_getaffinity(0, sizeof all, &all);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, door) || pipe(there) || pipe(back))
        fail("socketpair");
    make(&one, "one");
    make(&two, "two");
    kind = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kind == MAP_FAILED)
        fail("mmap");
    memset(one.view, 1, PAGES * PAGE);
    if (fork() == 0) {
        stay_on(1);
        close(there[1]);
        watch(&two);
        pass(door[1], two.uffd);
        for (int round = 0; round < ROUNDS; round++) {
            turn(-1, there[0], 0);
            EACH_PAGE(&two, BARE, (void)*at)
            turn(back[1], there[0], 0);
            EACH_PAGE(&two, READ, (void)*at)
            *kind = UPGRADE;
            EACH_PAGE(&two, UPGRADE, *at = 3)
            turn(back[1], there[0], 0);
            EACH_PAGE(&two, HANDED, (void)*at)
            turn(back[1], -1, 1);
        }
        print(BARE, HANDED);
        /* The first process changes this one's pages until it ends. */
        char byte;
        if (read(there[0], &byte, 1) < 0)
            fail("read");
        _exit(0);
    }
    stay_on(0);
    close(back[1]);
    watch(&one);
    two.uffd = pass(door[0], -1);
    pthread_t threads[2];
    struct process *all[2] = {&one, &two};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, serve, all[i]))
            fail("pthread_create");
    for (int round = 0; round < ROUNDS; round++) {
        *kind = BARE;
        turn(there[1], back[0], 0);
        if (madvise(two.alias, PAGES * PAGE, MADV_REMOVE))
            fail("MADV_REMOVE");
        *kind = READ;
        turn(there[1], back[0], 0);
        *kind = DIRTY;
        EACH_PAGE(&one, DIRTY, *at = 2)
        *kind = HANDED;
        turn(there[1], back[0], 0);
        *kind = DIRTY;
        for (size_t i = 0; i < PAGES; i++)
            *(volatile char *)(one.view + i * PAGE) = 4;
    }
    print(DIRTY, DIRTY);
    return 0;
}
