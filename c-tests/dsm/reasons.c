/* A region for each reason why regions stay at the origin, and next to it one that lacks nothing but the reason. Before
   each one a line on standard error says what is expected of it. With `trusted`, whatever other functions do is no
   reason; with `keeps`, regions whose thread-local variables stay. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned);

static long sum, kept;
#pragma omp threadprivate(kept)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long twice(long n) { return 2 * n; }
static long (*volatile pointer)(long) = twice;
static volatile int zero;
static int trusted;
static const char *never;

static void expect(const char *region, const char *what) {
    fprintf(stderr, "expected of %s: %s\n", region, never ? never : what);
}

#define REGION(name, expected, ...)                                                                                    \
    static void name(int threads) {                                                                                    \
        expect(#name, expected);                                                                                       \
        _Pragma("omp parallel num_threads(threads)") { __VA_ARGS__; }                                                  \
    }
#define ADD(n) __atomic_fetch_add(&sum, n, __ATOMIC_RELAXED)
#define HOME(why) "at the origin: " why
#define UNKNOWN "it calls what is not known to work across nodes: "
#define OF_ONE_NODE "it calls what works between threads of one node: "
#define NOT_ACROSS "it calls what is not done across nodes: "
/* What is not known may reach thread-local variables. */
#define UNLESS_TRUSTED(why) trusted ? "on all nodes" : HOME(why)

REGION(plain, "may cross nodes", ADD(1))
REGION(calls, trusted ? "may cross nodes" : HOME(UNKNOWN "rand"), ADD(rand()))
REGION(points, UNLESS_TRUSTED(UNKNOWN "at 0x"), ADD(pointer(1)))
REGION(jumps, UNLESS_TRUSTED("a jump to a computed address at 0x"), static void *const to[] = {&&one, &&two};
       goto *to[zero]; one : ADD(1); two : ADD(2))
REGION(locks, HOME(OF_ONE_NODE "pthread_mutex_lock"), pthread_mutex_lock(&mutex); sum++;
       pthread_mutex_unlock(&mutex))
REGION(asks, HOME(NOT_ACROSS "omp_get_place_num"), ADD(omp_get_place_num()))
REGION(cancels, getenv("OMP_CANCELLATION") ? HOME("it may be cancelled (OMP_CANCELLATION)") : "may cross nodes",
       _Pragma("omp cancel parallel") ADD(1))
REGION(few, HOME("it has fewer threads than there are nodes"), ADD(1))
REGION(enough, "may cross nodes", ADD(1))
REGION(keeps, "on all nodes", kept++)
REGION(keeps_at_home, HOME(NOT_ACROSS "omp_get_place_num"), kept += omp_get_place_num())
REGION(keeps_later, HOME("its thread-local variables have values of a region that stayed there"), kept--)
REGION(on_a_stack, HOME("its opener's stack is not shared"), ADD(1))

static void inner(void) {
#pragma omp parallel num_threads(4)
    ADD(3);
}

/* Two regions: the second is met inside of the first. */
static void nests(void) {
    expect("nests", HOME(NOT_ACROSS "GOMP_parallel"));
    expect("inner", HOME("it is inside another region"));
#pragma omp parallel num_threads(4)
#pragma omp single
    inner();
}

static void of_teams(void) {
    expect("of_teams", HOME("it is not of the plain kind"));
#pragma omp teams num_teams(2)
#pragma omp parallel num_threads(4)
    ADD(4);
}

static void by_hand(void *data) { __atomic_fetch_add((long *)data, 1, __ATOMIC_RELAXED); }

/* Memory that this process alone has. */
static void *unshared(size_t len) {
    return (void *)syscall(SYS_mmap, 0, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *on_that_stack(void *none) {
    on_a_stack(4);
    return none;
}

int main(int argc, char **argv) {
    trusted = argc > 1 && strcmp(argv[1], "trusted") == 0;
    if (argc > 1 && strcmp(argv[1], "never") == 0) {
        never = HOME("HETMP_DSM_CROSS=never");
        plain(4);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "keeps") == 0) {
        keeps(4);
        keeps_at_home(4);
        keeps_later(4);
        return 0;
    }
    plain(4);
    calls(4);
    points(4);
    jumps(4);
    locks(4);
    asks(4);
    cancels(4);
    nests();
    of_teams();
    few(1);
    enough(4);

    void *data = unshared(4096);
    expect("by_hand", HOME("its data is not in shared memory"));
    GOMP_parallel(by_hand, data, 4, 0);
    expect("by_hand", "may cross nodes");
    GOMP_parallel(by_hand, &sum, 4, 0);

    /* lock addq $1, (%rdi); ret: code that no file has. */
    static const char code[] = "\xf0\x48\x83\x07\x01\xc3";
    char *made = unshared(4096);
    memcpy(made, code, sizeof code);
    syscall(SYS_mprotect, made, 4096, PROT_READ | PROT_EXEC);
    expect("code", HOME("its function was not found"));
    GOMP_parallel((void (*)(void *))made, &sum, 4, 0);

    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, unshared(1 << 20), 1 << 20);
    pthread_create(&thread, &attributes, on_that_stack, 0);
    pthread_join(thread, 0);
    return 0;
}
