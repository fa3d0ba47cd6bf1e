/* Checks for the OpenSHMEM tests. A program begins with test_begin(), checks with CHECK and ends with
 * `return test_end("name")`. PE 0 prints one line, which is the same under every library and on every run; each
 * check that fails is a line on standard output, too, and makes the PE exit with 1. */
#ifndef SHMEM_TEST_H
#define SHMEM_TEST_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Not static: a program may consist of two files. */
#ifdef SHMEM_TEST_EXTERN
extern int me, npes, next, prev, test_failed;
extern long test_checks;
#else
int me, npes, next, prev, test_failed;
long test_checks;
#endif

#define TEST_SHOWN 10

#define CHECK(condition) \
    do { \
        __atomic_fetch_add(&test_checks, 1, __ATOMIC_RELAXED); \
        if (!(condition) && __atomic_fetch_add(&test_failed, 1, __ATOMIC_RELAXED) < TEST_SHOWN) { \
            printf("FAILED on PE %d of %d: %s:%d: %s\n", me, npes, __FILE__, __LINE__, #condition); \
            fflush(stdout); \
        } \
    } while (0)

/* Like CHECK, with what was found: CHECKF(a == b, "%d", a). */
#define CHECKF(condition, ...) \
    do { \
        __atomic_fetch_add(&test_checks, 1, __ATOMIC_RELAXED); \
        if (!(condition) && __atomic_fetch_add(&test_failed, 1, __ATOMIC_RELAXED) < TEST_SHOWN) { \
            printf("FAILED on PE %d of %d: %s:%d: %s: ", me, npes, __FILE__, __LINE__, #condition); \
            printf(__VA_ARGS__); \
            printf("\n"); \
            fflush(stdout); \
        } \
    } while (0)

/* A value that fits every type and differs between PEs and places. */
#define VALUE(TYPE, pe, i) ((TYPE)(((pe) * 7 + (long)(i) * 3 + 1) % 101))

static inline void test_numbers(void) {
    me = shmem_my_pe();
    npes = shmem_n_pes();
    next = (me + 1) % npes;
    prev = (me + npes - 1) % npes;
}

static inline void test_begin(void) {
    shmem_init();
    test_numbers();
}

/* The line and the exit status, for a program that finalizes by itself. */
static inline int test_line(const char *name) {
    if (test_failed) {
        printf("FAILED on PE %d: %d of %ld checks of %s\n", me, test_failed, test_checks, name);
    } else if (me == 0) {
        printf("%s: passed, %ld checks on PE 0 of %d\n", name, test_checks, npes);
    }
    fflush(stdout);
    return test_failed != 0;
}

static inline int test_end(const char *name) {
    shmem_barrier_all();
    int status = test_line(name);
    shmem_finalize();
    return status;
}

static inline double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Rounds of what is repeated: `few`, or as many times more as HETMP_TEST_TIMES says. */
static inline int rounds(int few) {
    const char *times = getenv("HETMP_TEST_TIMES");
    return times && atoi(times) > 0 ? few * atoi(times) : few;
}

/* The next number of a sequence that is the same on every PE that starts with the same seed. */
static inline unsigned test_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
