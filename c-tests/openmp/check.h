/* Checks shared by the differential programs: a failed one is printed with its line and makes the exit status 1.
   Safe to use inside parallel regions and tasks. */
#ifndef HETMP_CHECK_H
#define HETMP_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <omp.h>
#ifdef __cplusplus
#include <cstdio>
#endif

static int check_failures __attribute__((unused));

__attribute__((unused, noinline, cold)) static void check_fail(int line, const char *what)
{
    /* Ten lines show what is wrong; a million would hide it. */
    if (__atomic_fetch_add(&check_failures, 1, __ATOMIC_RELAXED) < 10)
        printf("FAIL line %d: %s\n", line, what);
}

#define CHECK(condition)                       \
    do {                                       \
        if (!(condition))                      \
            check_fail(__LINE__, #condition);  \
    } while (0)

/* Prints the verdict; main returns it. */
__attribute__((unused)) static int check_end(void)
{
    int n = __atomic_load_n(&check_failures, __ATOMIC_RELAXED);
    if (n)
        printf("failed: %d checks\n", n);
    else
        printf("ok\n");
    return n != 0;
}

#endif
