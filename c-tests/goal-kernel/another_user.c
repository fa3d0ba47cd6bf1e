/* The helper (the argument) with the capabilities that docs/goal.md names, started by users who are not root: whom it
 * serves, behind which interface, how many ranks of a user, what a rank can say about itself, and how long a packet
 * waits. Root's, in a network namespace of its own with the loopback device up; the folders that it changes are its
 * own. */
#define _GNU_SOURCE
#include "../goal/gtest.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { GROUP = 4242, NOBODY = 65534 };
#define HELPER "/mnt/hetmp-goal-kernel"
#define RULES "/etc/hetmp/goal-kernel.conf"

static char said[512];
static int fds[3];

static void copy(const char *from, const char *to)
{
    char part[65536];
    ssize_t n;
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
    CHECK(in >= 0 && out >= 0);
    while ((n = read(in, part, sizeof part)) > 0)
        CHECK(write(out, part, (size_t)n) == n);
    close(in);
    close(out);
}

/* CAP_NET_ADMIN, CAP_PERFMON and CAP_BPF: permitted and effective. */
static void give_rights(void)
{
    const uint32_t caps[5] = {0x02000001, 1u << 12, 0, 1u << (38 - 32) | 1u << (39 - 32), 0};
    CHECK(setxattr(HELPER, "security.capability", caps, sizeof caps, 0) == 0);
}

static void rules(const char *text)
{
    FILE *file = fopen(RULES, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0 && chmod(RULES, 0644) == 0);
}

/* Takes one line, and the descriptors that come with it, into `said` and `fds`. */
static void listen_to(int sock)
{
    union {
        char bytes[CMSG_SPACE(sizeof fds)];
        struct cmsghdr align;
    } control;
    struct iovec io = {said, sizeof said - 1};
    struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control.bytes,
                             .msg_controllen = sizeof control};
    struct cmsghdr *head;
    ssize_t n = recvmsg(sock, &message, 0);
    said[n > 0 ? n : 0] = 0;
    head = CMSG_FIRSTHDR(&message);
    if (n > 0 && head)
        memcpy(fds, CMSG_DATA(head), sizeof fds);
}

/* The socket of a helper that this user has started; its first line is in `said`. */
static int start(unsigned user, const gid_t *groups, size_t n, const char *interface)
{
    int pair[2];
    pid_t child;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (dup2(pair[1], 0) == 0 && setgroups(n, groups) == 0 && setgid(NOBODY) == 0 && setuid(user) == 0)
            execl(HELPER, HELPER, "--interface", interface, (char *)0);
        _exit(9);
    }
    close(pair[1]);
    CHECK(waitpid(child, NULL, 0) == child);
    listen_to(pair[0]);
    return pair[0];
}

static int says(const char *words) { return strncmp(said, words, strlen(words)) == 0; }

static void refused(unsigned user, const gid_t *groups, size_t n, const char *interface, const char *why)
{
    int sock = start(user, groups, n, interface);
    if (!says(why))
        fprintf(stderr, "said: %s\n", said);
    CHECK(says(why));
    CHECK(read(sock, said, 1) == 0);
    close(sock);
}

static int served(unsigned user, const char *interface)
{
    const gid_t group = GROUP;
    int sock = start(user, &group, 1, interface);
    if (!says("ready 000000000000 "))
        fprintf(stderr, "said: %s\n", said);
    CHECK(says("ready 000000000000 "));
    return sock;
}

static void say(int sock, const char *line)
{
    CHECK(write(sock, line, strlen(line)) == (ssize_t)strlen(line));
    listen_to(sock);
}

/* Bytes of the values of the map behind a descriptor; 0 if it is none. */
static unsigned value_bytes(int fd)
{
    char name[64], line[128];
    unsigned bytes = 0;
    FILE *info;
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", fd);
    info = fopen(name, "r");
    CHECK(info != NULL);
    while (fgets(line, sizeof line, info))
        sscanf(line, "value_size: %u", &bytes);
    fclose(info);
    return bytes;
}

static int bpf(int command, union bpf_attr *attr) { return (int)syscall(SYS_bpf, command, attr, sizeof *attr); }

/* The map of this program whose values have that many bytes. Only root gets at maps by their numbers. */
static int map_of(int program, unsigned bytes)
{
    __u32 ids[16];
    struct bpf_prog_info info = {.nr_map_ids = 16, .map_ids = (uintptr_t)ids};
    union bpf_attr attr = {.info = {.bpf_fd = (unsigned)program, .info_len = sizeof info, .info = (uintptr_t)&info}};
    unsigned i;
    CHECK(bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0);
    for (i = 0; i < info.nr_map_ids; i++) {
        union bpf_attr by_id = {.map_id = ids[i]};
        int fd = bpf(BPF_MAP_GET_FD_BY_ID, &by_id);
        CHECK(fd >= 0);
        if (value_bytes(fd) == bytes)
            return fd;
        close(fd);
    }
    return -1;
}

static int of_map(int command, int map, void *value)
{
    __u32 zero = 0;
    union bpf_attr attr = {.map_fd = (unsigned)map, .key = (uintptr_t)&zero, .value = (uintptr_t)value};
    return bpf(command, &attr);
}

/* Writes what the map has already. */
static int rewrite(int map)
{
    unsigned char value[408];
    CHECK(of_map(BPF_MAP_LOOKUP_ELEM, map, value) == 0);
    return of_map(BPF_MAP_UPDATE_ELEM, map, value);
}

/* A packet for rank 0 of job 2 while somebody holds the lock and never gives it back: it waits so often, and no more.
   */
static void wait_for_ever(int state, int lock)
{
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_halen = 6};
    unsigned char packet[64] = {[12] = 0x88, 0xb5, [16] = 'G', 'O', 'L', 'K', 5, 3, 1, 0, 2};
    uint64_t words[784 / 8], *count = words + 528 / 8;
    uint32_t held = 1;
    int sock = socket(AF_PACKET, SOCK_RAW, 0), tries;
    to.sll_ifindex = (int)if_nametoindex("lo");
    CHECK(sock >= 0 && of_map(BPF_MAP_UPDATE_ELEM, lock, &held) == 0);
    CHECK(sendto(sock, packet, sizeof packet, 0, (struct sockaddr *)&to, sizeof to) == sizeof packet);
    for (tries = 0; tries < 1000; tries++) {
        CHECK(of_map(BPF_MAP_LOOKUP_ELEM, state, words) == 0);
        if (count[4]) /* dropped */
            break;
        usleep(10000);
    }
    CHECK(count[4] == 1 && count[9] == 1025); /* busy */
    close(sock);
}

int main(int argc, char **argv)
{
    const gid_t group = GROUP, other = GROUP + 1;
    const char *wrong[] = {
        "join 0000000000000000 0 1448 000000000000 000000000000\n", /* no job */
        "join 0000000000000001 2 1448 000000000000 000000000000\n", /* no such rank */
        "join 0000000000000001 0 1448 020000000001 000000000000\n", /* as another interface */
        "join 0000000000000001 0 1448 000000000000 ffffffffffff\n", /* to everybody */
        "join 0000000000000001 0 1 000000000000 000000000000\n",    /* parts too short */
        "join\n",
    };
    int first, second, third, tries, job, lock;
    size_t i;
    gtest_name = "another_user";
    CHECK(argc == 2 && unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    CHECK(mount("none", "/mnt", "tmpfs", 0, "mode=755") == 0);
    copy(argv[1], HELPER);
    give_rights();
    CHECK(mount("none", "/etc", "tmpfs", 0, "mode=755") == 0);
    CHECK(mkdir("/etc/hetmp", 0755) == 0);

    refused(NOBODY, &group, 1, "lo", "error file '" RULES "': not there");
    rules("group 4242\ninterface lo\nranks 2\n");
    refused(NOBODY, &other, 1, "lo", "error user 65534: in none of the groups of ");
    refused(NOBODY, NULL, 0, "lo", "error user 65534: in none of the groups of ");
    refused(NOBODY, &group, 1, "eth7", "error interface 'eth7': none of those of ");
    CHECK(chmod(RULES, 0666) == 0);
    refused(NOBODY, &group, 1, "lo", "error file '" RULES "': others than root can write it");
    CHECK(chmod(RULES, 0644) == 0);
    CHECK(chmod(HELPER, 04755) == 0);
    refused(NOBODY, &group, 1, "lo", "error user 0 for user 65534: a set-user-id program");
    CHECK(chmod(HELPER, 0755) == 0);
    give_rights();

    /* So many ranks of each user; whoever leaves makes room. */
    first = served(NOBODY, "lo");
    second = served(NOBODY, "lo");
    refused(NOBODY, &group, 1, "lo", "error ranks of user 65534: too many at once (expected at most 2)");
    close(served(NOBODY - 1, "lo"));
    close(served(0, "lo"));
    close(first);
    for (tries = 0; tries < 500; tries++) {
        first = start(NOBODY, &group, 1, "lo");
        if (says("ready "))
            break;
        close(first);
        usleep(10000);
    }
    CHECK(says("ready "));

    /* A rank gets its state and its runs, which are its own, and nothing that says who it is. */
    CHECK(value_bytes(fds[0]) == 784 && value_bytes(fds[1]) == 1126952 && value_bytes(fds[2]) == 0);
    close(first);
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        third = served(0, "lo");
        say(third, wrong[i]);
        CHECK(says("error 'join"));
        CHECK(read(third, said, 1) == 0);
        close(third);
    }
    say(second, "join 0000000000000001 0 1448 000000000000 000000000000\n");
    CHECK(says("joined"));
    /* What it has said is written once: not even root changes it, by any way. */
    third = served(0, "lo");
    job = map_of(fds[2], 408);
    lock = map_of(fds[2], 4);
    CHECK(job >= 0 && rewrite(job) == 0);
    say(third, "join 0000000000000002 0 1448 000000000000 000000000000\n");
    CHECK(says("joined"));
    CHECK(rewrite(job) == -1 && errno == EPERM);
    CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, job, 0) == MAP_FAILED);
    wait_for_ever(fds[0], lock);
    /* Who says more has had his say. */
    CHECK(write(second, "join 0000000000000001 1 1448 000000000000 000000000000\n", 54) == 54);
    listen_to(second);
    CHECK(said[0] == 0);
    printf("%s: passed, %ld checks on rank 0 of 1\n", gtest_name, gtest_checks);
    return 0;
}
