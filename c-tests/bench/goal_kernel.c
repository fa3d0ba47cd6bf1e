/* Figure 4 of ESPGOAL (Schneider, Eckelmann, Hoefler, Rehm, "Kernel-Based Offload of Collective Operations", Euro-Par
 * 2011): what a work item of the kernel costs, and maxima of float vectors in the kernel and in user space.
 *
 *     goal_kernel OBJECT [MS]     OBJECT: goal_kernel.bpf.c, compiled; MS: time of a row, milliseconds [200]
 *
 * Needs root (eBPF, and a network namespace of its own, which ends with the program) and Linux 6.10 or later. Prints
 * lines
 *
 *     answer WAY US       a frame on the loopback device, the median. WAY: user, half of the time until a second thread
 *                         with a raw socket has answered; kernel, until the program at the ingress has woken the sender
 *                         through a ring buffer (which costs an interrupt); item, until a work item that it queues has
 *     item US             from queueing an item until it runs, the median
 *     maxima FLOATS WAY NS   one call: kernel, user (what gcc -O3 makes of the loop), scalar (without vector
 *                         instructions). The start of the kernel's program does not count, as in the paper
 *
 * The ways of a row take turns. Status 0: done; 1: a result is wrong, or the system refuses; 2: bad use; 77: this
 * system cannot run it, with one line that says why. */
#define _GNU_SOURCE
#include "goal_kernel.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAME 64
#define SAMPLES 200000

__attribute__((format(printf, 2, 3), noreturn)) static void ends(int status, const char *format, ...)
{
    va_list rest;
    va_start(rest, format);
    fputs("hetmp: ", stderr);
    vfprintf(stderr, format, rest);
    fputc('\n', stderr);
    va_end(rest);
    exit(status);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, by_size);
    return values[n / 2];
}

/* ---- Frames on the loopback device of a namespace that ends with this process. */

static int loopback;

static void own_network(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int s;
    if (unshare(CLONE_NEWNET))
        ends(77, "network namespace: %s (expected root)", strerror(errno));
    s = socket(AF_INET, SOCK_DGRAM, 0);
    if (s < 0 || ioctl(s, SIOCGIFFLAGS, &request))
        ends(77, "loopback device: %s", strerror(errno));
    request.ifr_flags |= IFF_UP;
    if (ioctl(s, SIOCSIFFLAGS, &request))
        ends(77, "loopback device: %s", strerror(errno));
    close(s);
    loopback = (int)if_nametoindex("lo");
}

static struct sockaddr_ll address(int type)
{
    struct sockaddr_ll a = {.sll_family = AF_PACKET, .sll_protocol = htons((uint16_t)type), .sll_ifindex = loopback,
                            .sll_halen = 6};
    return a;
}

/* A raw socket that gets frames of one type. */
static int raw(int type)
{
    struct sockaddr_ll a = address(type);
    int s = socket(AF_PACKET, SOCK_RAW, htons((uint16_t)type));
    if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a))
        ends(77, "raw socket: %s", strerror(errno));
    return s;
}

static void post(int s, int type)
{
    unsigned char frame[FRAME] = {0};
    struct sockaddr_ll a = address(type);
    frame[12] = (unsigned char)(type >> 8), frame[13] = (unsigned char)type;
    if (sendto(s, frame, sizeof frame, 0, (struct sockaddr *)&a, sizeof a) != FRAME)
        ends(1, "a frame is not sent: %s", strerror(errno));
}

/* The frames of the two threads have a type each: TYPE_USER to the second one, and this one back. */
#define TYPE_BACK 0x88b7

static void *answers(void *argument)
{
    int s = *(int *)argument;
    unsigned char frame[FRAME];
    while (recv(s, frame, sizeof frame, 0) > 0) {
        if (frame[14]) /* the last one */
            break;
        post(s, TYPE_BACK);
    }
    return NULL;
}

/* ---- The kernel's side. */

static struct shared *shared;
static int maxima_fd;
static struct ring_buffer *ring;
static uint64_t told;

static int hear(void *context, void *data, size_t bytes)
{
    (void)context, (void)data, (void)bytes;
    told++;
    return 0;
}

static int silent(enum libbpf_print_level level, const char *format, va_list rest)
{
    if (level == LIBBPF_WARN && getenv("GOAL_KERNEL_VERBOSE"))
        return vfprintf(stderr, format, rest);
    return 0;
}

static void load(const char *file)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = loopback, .attach_point = BPF_TC_INGRESS);
    LIBBPF_OPTS(bpf_tc_opts, options);
    struct bpf_object *object;
    int map;
    libbpf_set_print(silent);
    object = bpf_object__open_file(file, NULL);
    if (!object)
        ends(2, "object %s: not usable (expected goal_kernel.bpf.c, compiled by clang)", file);
    if (bpf_object__load(object))
        ends(77, "eBPF: %s (expected root and Linux 6.10 or later, with types of the kernel (BTF))", strerror(errno));
    if (bpf_tc_hook_create(&hook))
        ends(77, "eBPF: ingress of the loopback device: %s", strerror(errno));
    options.prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "answer"));
    if (bpf_tc_attach(&hook, &options))
        ends(77, "eBPF: ingress of the loopback device: %s", strerror(errno));
    maxima_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "maxima"));
    map = bpf_object__find_map_fd_by_name(object, "shared_map");
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (shared == MAP_FAILED)
        ends(77, "eBPF: memory of a map: %s", strerror(errno));
    ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "answers"), hear, NULL, NULL);
    if (!ring)
        ends(77, "eBPF: ring buffer: %s", strerror(errno));
}

/* Sends a frame to the kernel's program and sleeps until the answer is here; microseconds. */
static double ask_kernel(int s, int through_item, double *item)
{
    uint64_t before = told, from;
    __atomic_store_n(&shared->through_item, (uint64_t)through_item, __ATOMIC_RELEASE);
    from = now_ns();
    post(s, TYPE_KERNEL);
    while (told == before)
        if (ring_buffer__poll(ring, 1000) == 0)
            ends(1, "answer %s: none for a second", through_item ? "item" : "kernel");
    double us = 1e-3 * (double)(now_ns() - from);
    if (through_item)
        *item = 1e-3 * (double)__atomic_load_n(&shared->item_ns, __ATOMIC_ACQUIRE);
    return us;
}

static double ask_thread(int s)
{
    unsigned char frame[FRAME];
    uint64_t from = now_ns();
    post(s, TYPE_USER);
    if (recv(s, frame, sizeof frame, 0) <= 0)
        ends(1, "answer user: none: %s", strerror(errno));
    return 1e-3 * (double)(now_ns() - from) / 2;
}

static void work_items(double ms)
{
    int here = raw(TYPE_BACK), there = raw(TYPE_USER);
    pthread_t second;
    size_t n = 0;
    double *took[4];
    for (int i = 0; i < 4; i++) {
        took[i] = malloc(SAMPLES * sizeof *took[i]);
        if (!took[i])
            ends(1, "samples: no memory");
    }
    if (pthread_create(&second, NULL, answers, &there))
        ends(1, "second thread: cannot be started");
    uint64_t until = now_ns() + (uint64_t)(3e6 * ms);
    while (now_ns() < until && n < SAMPLES) {
        double item = 0;
        took[0][n] = ask_thread(here);
        took[1][n] = ask_kernel(here, 0, &item);
        took[2][n] = ask_kernel(here, 1, &item);
        took[3][n] = item;
        n++;
    }
    unsigned char last[FRAME] = {0};
    struct sockaddr_ll a = address(TYPE_USER);
    last[12] = TYPE_USER >> 8, last[13] = TYPE_USER & 0xff, last[14] = 1;
    if (sendto(here, last, sizeof last, 0, (struct sockaddr *)&a, sizeof a) != FRAME)
        ends(1, "a frame is not sent: %s", strerror(errno));
    pthread_join(second, NULL);
    static const char *const ways[] = {"user", "kernel", "item"};
    for (int i = 0; i < 3; i++)
        printf("answer %s %.3f\n", ways[i], median(took[i], n));
    printf("item %.3f\n", median(took[3], n));
    for (int i = 0; i < 4; i++)
        free(took[i]);
}

/* ---- Maxima. */

static float *a, *b, *most;

__attribute__((noinline)) static void maxima_user(size_t n)
{
    const float *x = a, *y = b;
    float *to = most;
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] > y[i] ? x[i] : y[i];
}

__attribute__((noinline, optimize("no-tree-vectorize"))) static void maxima_scalar(size_t n)
{
    const float *x = a, *y = b;
    float *to = most;
    for (size_t i = 0; i < n; i++)
        to[i] = x[i] > y[i] ? x[i] : y[i];
}

static double of_kernel(size_t n)
{
    unsigned char frame[FRAME] = {0};
    LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = sizeof frame);
    shared->floats = n;
    if (bpf_prog_test_run_opts(maxima_fd, &run) || run.retval != 0)
        ends(1, "maxima of %zu floats in the kernel: %s", n, strerror(errno));
    return (double)__atomic_load_n(&shared->took_ns, __ATOMIC_ACQUIRE);
}

static double of_user(void (*way)(size_t), size_t n)
{
    /* A short call is repeated: the clock takes as long as the call. */
    size_t times = n < 4096 ? 4096 / n : 1;
    uint64_t from = now_ns();
    for (size_t i = 0; i < times; i++) {
        way(n);
        __asm__ volatile("" ::: "memory");
    }
    return (double)(now_ns() - from) / (double)times;
}

static void vectors(double ms)
{
    static const char *const ways[] = {"kernel", "user", "scalar"};
    double *took[3];
    uint64_t state = 12345;
    a = aligned_alloc(64, FLOATS * sizeof *a);
    b = aligned_alloc(64, FLOATS * sizeof *b);
    most = aligned_alloc(64, FLOATS * sizeof *most);
    for (int w = 0; w < 3; w++) {
        took[w] = malloc(SAMPLES * sizeof *took[w]);
        if (!took[w] || !a || !b || !most)
            ends(1, "vectors: no memory");
    }
    for (size_t i = 0; i < FLOATS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        a[i] = (float)(int32_t)(state >> 32) / 65536.0f;
        state = state * 6364136223846793005u + 1442695040888963407u;
        b[i] = (float)(int32_t)(state >> 32) / 65536.0f;
    }
    memcpy(shared->a, a, FLOATS * sizeof *a);
    memcpy(shared->b, b, FLOATS * sizeof *b);
    for (size_t n = 1; n <= FLOATS; n *= 4) {
        size_t count = 0;
        memset(shared->most, 0, sizeof shared->most);
        uint64_t until = now_ns() + (uint64_t)(1e6 * ms);
        while ((now_ns() < until || count < 5) && count < SAMPLES) {
            took[0][count] = of_kernel(n);
            took[1][count] = of_user(maxima_user, n);
            took[2][count] = of_user(maxima_scalar, n);
            count++;
        }
        if (memcmp(shared->most, most, n * sizeof *most))
            ends(1, "maxima of %zu floats: kernel and user space do not agree", n);
        for (int w = 0; w < 3; w++)
            printf("maxima %zu %s %.1f\n", n, ways[w], median(took[w], count));
    }
}

int main(int argc, char **argv)
{
    double ms = argc > 2 ? atof(argv[2]) : 200;
    if (argc < 2 || argc > 3 || !(ms >= 1 && ms <= 60000))
        ends(2, "arguments: not usable (expected OBJECT and, as MS, 1 to 60000)");
    own_network();
    load(argv[1]);
    work_items(ms);
    vectors(ms);
    return 0;
}
