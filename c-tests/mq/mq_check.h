/* CHECK and the number of slaves, for the message queue programs. */
#ifndef MQ_CHECK_H
#define MQ_CHECK_H

#include <hetmp/mq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures __attribute__((unused));

/* Says what failed and where; a program ends with 1 if anything did. */
#define CHECK(condition)                                                                       \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            if (__atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED) < 20)                 \
                printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
        }                                                                                      \
    } while (0)

/* The program's argument, or 2. */
static inline int slaves(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 2;
    return n < 1 ? 1 : n;
}

static inline int check_end(void) {
    int n = __atomic_load_n(&check_failures, __ATOMIC_RELAXED);
    printf(n ? "%d checks failed\n" : "passed\n", n);
    return n != 0;
}

#endif
