/* Exactly-once bookkeeping shared by the loop programs: one byte an iteration, and a checksum that is printed. */
#ifndef HETMP_LOOP_CHECK_H
#define HETMP_LOOP_CHECK_H

#include "check.h"

static unsigned char loop_hits[1 << 20] __attribute__((unused));

static inline __attribute__((unused)) void loop_hit(long index)
{
    __atomic_fetch_add(&loop_hits[index], 1, __ATOMIC_RELAXED);
}

/* Checks that iterations 0..n-1 each ran `times` times and nothing else did; clears the record. */
__attribute__((unused)) static void loop_expect(int line, long n, int times)
{
    long wrong = 0;
    for (long i = 0; i < (long)sizeof loop_hits; i++) {
        wrong += loop_hits[i] != (i < n ? times : 0);
        if (i > n + 4096)
            break;
    }
    if (wrong)
        check_fail(line, "every iteration exactly once");
    memset(loop_hits, 0, n + 4098 < (long)sizeof loop_hits ? (size_t)(n + 4098) : sizeof loop_hits);
}
#define LOOP_EXPECT(n, times) loop_expect(__LINE__, n, times)

#endif
