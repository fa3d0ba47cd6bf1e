/* What the programs of "GPU Initiated OpenSHMEM" (PPoPP 2020) share, those on threads (gio.h) and those on a GPU
 * (../device/gpu.h): the four ways to communicate, command lines, time, and how they end.
 *
 *   gio      the initiator, a workgroup, posts from templates to its own queue (hetmp/device.h)
 *   ikn      it hands the request through memory to a CPU thread, which builds the whole descriptor and posts:
 *            intra-kernel networking as it was
 *   interk   no communication inside of a kernel: the host does it between two kernels
 *   overlap  the same, nonblocking: the part that neighbours need is a kernel of its own, and travels while the rest
 *            is computed */
#ifndef MODES_H
#define MODES_H

#include <hetmp/device.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __CUDACC__
#define GIO_FN static __host__ __device__ inline /* for kernels too */
#else
#define GIO_FN static inline
#endif

enum gio_mode { GIO, IKN, INTER_K, OVERLAP, GIO_MODES }; /* GIO_MODES: all of them, on command lines */
static const char *const gio_modes[] = {"gio", "ikn", "interk", "overlap"};

static int gio_me, gio_pes; /* 0 before gio_init */

/* One line, and the end of all PEs. */
__attribute__((format(printf, 2, 3), noreturn)) static inline void gio_end(int status, const char *format, ...) {
    char line[512];
    va_list rest;
    va_start(rest, format);
    vsnprintf(line, sizeof line, format, rest);
    va_end(rest);
    fprintf(stderr, "hetmp: %s\n", line);
    if (gio_pes <= 1) exit(status);
    shmem_global_exit(status);
}
#define gio_die(...) gio_end(2, __VA_ARGS__)

static inline void gio_check(const char *what, int pe, int status) {
    if (status) gio_end(1, "%s PE %d: %s", what, pe, hetmp_device_error_text(status));
}

/* shmem_init for threads. */
static inline void gio_init(void) {
    int provided = 0;
    if (shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) != 0 || provided < SHMEM_THREAD_MULTIPLE)
        gio_die("thread level %d: not usable (expected a library with SHMEM_THREAD_MULTIPLE)", provided);
    gio_me = shmem_my_pe();
    gio_pes = shmem_n_pes();
}

/* The verdict of all PEs. */
static inline int gio_agree(int right) {
    static int mine, all;
    mine = right;
    shmem_barrier_all();
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    return all;
}

static inline double gio_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Zeroed memory. */
static inline void *gio_symmetric(size_t bytes) {
    void *at = shmem_calloc(bytes ? bytes : 1, 1);
    if (!at) gio_die("symmetric heap: %zu more bytes (expected a larger SHMEM_SYMMETRIC_SIZE)", bytes);
    return at;
}
static inline void *gio_memory(size_t bytes) {
    void *at = calloc(bytes ? bytes : 1, 1);
    if (!at) gio_die("memory: no %zu more bytes", bytes);
    return at;
}

/* Bits that look random. */
GIO_FN uint64_t gio_mixed(uint64_t x) {
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* A signal that says how many there are in a chunk: the step in the high half, so that it only grows. */
GIO_FN uint64_t gio_said(uint64_t step, uint64_t many) { return step << 32 | many; }
GIO_FN uint32_t gio_many(const uint64_t *signal) { return (uint32_t)hetmp_word_acquire(signal); }

/* ---- Command lines: --NAME VALUE pairs, and flags. */

static inline long gio_number(const char *what, const char *text, double lowest, double highest) {
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0;
    if (!text || *end || end == text || (double)n < lowest || (double)n > highest)
        gio_die("%s %s: not usable (expected a number from %.0f to %.0f)", what, text ? text : "(none)", lowest,
                highest);
    return n;
}

static inline double gio_real(const char *what, const char *text, double lowest, double highest) {
    char *end = NULL;
    double n = text ? strtod(text, &end) : 0;
    if (!text || *end || end == text || !(n >= lowest && n <= highest))
        gio_die("%s %s: not usable (expected a number from %g to %g)", what, text ? text : "(none)", lowest, highest);
    return n;
}

enum gio_kind { GIO_FLAG, GIO_INT, GIO_LONG, GIO_REAL, GIO_TEXT, GIO_MODE };
struct gio_option {
    const char *name;
    enum gio_kind kind;
    void *at; /* an int for flags and modes */
    double lowest, highest; /* of modes: the last that the program has */
};

/* "A, B or C"; `n` is 1 or more. */
static inline const char *gio_list(char *text, size_t bytes, const char *const *words, int n) {
    size_t length = 0;
    for (int i = 0; i < n; i++)
        length += (size_t)snprintf(text + length, bytes - length, "%s%s",
                                   i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    return text;
}

static inline void gio_options(int argc, char **argv, const struct gio_option *options, int n) {
    char text[400];
    const char *words[32] = {"gio", "ikn", "interk", "overlap"};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        int at = 0;
        while (at < n && strcmp(name, options[at].name) != 0) at++;
        if (at == n) {
            for (int k = 0; k < n; k++) words[k] = options[k].name;
            gio_die("argument %s %s: unknown (expected %s)", name, value ? value : "",
                    gio_list(text, sizeof text, words, n));
        }
        const struct gio_option *o = &options[at];
        i += o->kind != GIO_FLAG;
        if (o->kind == GIO_FLAG) *(int *)o->at = 1;
        else if (o->kind == GIO_INT) *(int *)o->at = (int)gio_number(name, value, o->lowest, o->highest);
        else if (o->kind == GIO_LONG) *(long *)o->at = gio_number(name, value, o->lowest, o->highest);
        else if (o->kind == GIO_REAL) *(double *)o->at = gio_real(name, value, o->lowest, o->highest);
        else if (o->kind == GIO_TEXT) {
            if (!value) gio_die("%s (none): not usable (expected a value)", name);
            *(const char **)o->at = value;
        } else {
            int m = 0, last = (int)o->highest;
            while (m <= last && value && strcmp(value, words[m]) != 0) m++;
            words[last + 1] = "all";
            if (!value || (m > last && strcmp(value, "all") != 0))
                gio_die("%s %s: not usable (expected %s)", name, value ? value : "(none)",
                        gio_list(text, sizeof text, words, last + 2));
            *(int *)o->at = m > last ? GIO_MODES : m;
        }
    }
}
/* The rest of the arguments: the options that there are. */
#define GIO_OPTIONS(argc, argv, ...)                                               \
    do {                                                                           \
        const struct gio_option list_[] = {__VA_ARGS__};                           \
        gio_options(argc, argv, list_, (int)(sizeof list_ / sizeof *list_));       \
    } while (0)

#endif
