/* Waiting for a value inside of a kernel (part of hetmp/device.h; include that file).
 *
 * The words are symmetric memory of this PE, into which peers write: flags, signals, counters of arrivals. What a peer
 * wrote before such a word (a put's data before its signal, or anything before a fence) is visible after the wait or
 * the successful test. `cmp` is SHMEM_CMP_EQ, NE, GT, GE, LT or LE of shmem.h: the word on the left, `value` on the
 * right, both unsigned. Specification 1.5, section 9.9.
 *
 *     hetmp_put_signal(q, right, halo, row, bytes, &arrived, step);
 *     hetmp_ring(q);                                      // a workgroup that waits for an answer announces its own
 *     first hetmp_wait_until(&arrived, SHMEM_CMP_GE, step);
 *
 * On the CPU a wait that takes long gives its core away, drives the engine, says after some seconds who waits where,
 * and tells the checker of HETMP_NIC_MODEL what it saw. On a device it spins: whoever is waited for has to run, so a
 * kernel that waits for workgroups of its own grid needs all of them resident.
 */
#ifndef HETMP_DEVICE_WAIT_H
#define HETMP_DEVICE_WAIT_H
#ifndef HETMP_DEVICE_H
#error "include <hetmp/device.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What hetmp_wait_until_any and hetmp_test_any return if there is nothing to wait for, or no condition is true. */
#define HETMP_DEVICE_NONE (~(size_t)0)

HETMP_DEVICE_FN int hetmp_device_is_comparison(int cmp) { return cmp >= SHMEM_CMP_EQ && cmp <= SHMEM_CMP_LE; }

HETMP_DEVICE_FN int hetmp_device_compare(uint64_t a, int cmp, uint64_t b) {
    switch (cmp) {
    case SHMEM_CMP_EQ: return a == b;
    case SHMEM_CMP_NE: return a != b;
    case SHMEM_CMP_GT: return a > b;
    case SHMEM_CMP_GE: return a >= b;
    case SHMEM_CMP_LT: return a < b;
    default: return a <= b;
    }
}

#if defined(HETMP_DEVICE_PASS)
HETMP_DEVICE_FN uint32_t hetmp_word_acquire32(const uint32_t *at) {
    uint32_t value = *(const volatile uint32_t *)at;
    __threadfence_system();
    return value;
}
#endif

/* Waits until the word compares as said. Returns 0, or HETMP_DEVICE_BAD_COMPARISON for another comparison. */
HETMP_DEVICE_FN int hetmp_wait_until(const uint64_t *word, int cmp, uint64_t value) {
    if (!hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_BAD_COMPARISON;
#if defined(HETMP_DEVICE_PASS)
    while (!hetmp_device_compare(hetmp_word_acquire(word), cmp, value)) {}
#else
    shmem_uint64_wait_until((uint64_t *)(uintptr_t)word, cmp, value);
#endif
    return HETMP_DEVICE_OK;
}
HETMP_DEVICE_FN int hetmp_wait_until32(const uint32_t *word, int cmp, uint32_t value) {
    if (!hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_BAD_COMPARISON;
#if defined(HETMP_DEVICE_PASS)
    while (!hetmp_device_compare(hetmp_word_acquire32(word), cmp, value)) {}
#else
    shmem_uint32_wait_until((uint32_t *)(uintptr_t)word, cmp, value);
#endif
    return HETMP_DEVICE_OK;
}

/* 1 if the word compares as said, else 0; HETMP_DEVICE_BAD_COMPARISON for another comparison. */
HETMP_DEVICE_FN int hetmp_test(const uint64_t *word, int cmp, uint64_t value) {
    if (!hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_BAD_COMPARISON;
#if defined(HETMP_DEVICE_PASS)
    return hetmp_device_compare(hetmp_word_acquire(word), cmp, value);
#else
    return shmem_uint64_test((uint64_t *)(uintptr_t)word, cmp, value);
#endif
}
HETMP_DEVICE_FN int hetmp_test32(const uint32_t *word, int cmp, uint32_t value) {
    if (!hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_BAD_COMPARISON;
#if defined(HETMP_DEVICE_PASS)
    return hetmp_device_compare(hetmp_word_acquire32(word), cmp, value);
#else
    return shmem_uint32_test((uint32_t *)(uintptr_t)word, cmp, value);
#endif
}

/* Of `n` words, those whose `status` is 0 count (all, if `status` is NULL). _all: 1 if every word that counts compares
 * as said. _any: the index of one that does, or HETMP_DEVICE_NONE; the words are looked at from the first one on. */
HETMP_DEVICE_FN int hetmp_test_all(const uint64_t *words, size_t n, const int *status, int cmp, uint64_t value) {
    size_t i;
    if (!hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_BAD_COMPARISON;
    for (i = 0; i < n; i++)
        if ((!status || status[i] == 0) && !hetmp_test(words + i, cmp, value)) return 0;
    return 1;
}
HETMP_DEVICE_FN size_t hetmp_test_any(const uint64_t *words, size_t n, const int *status, int cmp, uint64_t value) {
    size_t i;
    if (!hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_NONE;
    for (i = 0; i < n; i++)
        if ((!status || status[i] == 0) && hetmp_test(words + i, cmp, value)) return i;
    return HETMP_DEVICE_NONE;
}

/* Waits until every word that counts compares as said. Returns as hetmp_wait_until. */
HETMP_DEVICE_FN int hetmp_wait_until_all(const uint64_t *words, size_t n, const int *status, int cmp, uint64_t value) {
    size_t i;
    if (!hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_BAD_COMPARISON;
    for (i = 0; i < n; i++)
        if (!status || status[i] == 0) hetmp_wait_until(words + i, cmp, value);
    return HETMP_DEVICE_OK;
}

/* Waits until a word that counts compares as said, and returns its index. If none counts, or for another comparison,
 * returns HETMP_DEVICE_NONE at once. */
HETMP_DEVICE_FN size_t hetmp_wait_until_any(const uint64_t *words, size_t n, const int *status, int cmp,
                                            uint64_t value) {
    size_t counting = 0, i;
    for (i = 0; i < n; i++) counting += !status || status[i] == 0;
    if (counting == 0 || !hetmp_device_is_comparison(cmp)) return HETMP_DEVICE_NONE;
#if defined(HETMP_DEVICE_PASS)
    for (;;) {
        i = hetmp_test_any(words, n, status, cmp, value);
        if (i != HETMP_DEVICE_NONE) return i;
    }
#else
    return shmem_uint64_wait_until_any((uint64_t *)(uintptr_t)words, n, status, cmp, value);
#endif
}

/* hetmp_wait_until for a workgroup. Afterwards every thread of the group sees what came before the value. */
HETMP_DEVICE_FN int hetmp_wait_until_wg(const uint64_t *word, int cmp, uint64_t value) {
    int status = HETMP_DEVICE_OK;
    HETMP_WG_BARRIER();
    if (HETMP_WG_LEADER()) status = hetmp_wait_until(word, cmp, value);
    HETMP_WG_BARRIER();
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
