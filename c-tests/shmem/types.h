/* The type tables of the OpenSHMEM specification, as lists to apply a macro to: X(NAME, TYPE). The tests make one
 * test of each entry, so that every typed function is called at least once.
 *
 * Source: OpenSHMEM 1.6, tables "Standard RMA Types", "Standard AMO Types", "Extended AMO Types", "Bitwise AMO Types",
 * "Point-to-Point Synchronization Types", "Reduction Types ... for Team-Based Reductions" and "... for
 * Active-Set-Based Reductions". */
#ifndef SHMEM_TEST_TYPES_H
#define SHMEM_TEST_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define RMA_TYPES(X) \
    X(float, float) X(double, double) X(longdouble, long double) X(char, char) X(schar, signed char) \
    X(short, short) X(int, int) X(long, long) X(longlong, long long) X(uchar, unsigned char) \
    X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) \
    X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)

#define AMO_TYPES(X) \
    X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t) \
    X(size, size_t) X(ptrdiff, ptrdiff_t)

#define AMO_EXTENDED_TYPES(X) X(float, float) X(double, double) AMO_TYPES(X)

#define AMO_BITWISE_TYPES(X) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) \
    X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)

/* Deprecated point-to-point types next to the standard AMO types. */
#define SYNC_DEPRECATED_TYPES(X) X(short, short) X(ushort, unsigned short)

/* Team-based reductions. AND, OR and XOR of the four signed types are those of 1.5. */
#define REDUCE_BITWISE_TYPES(X) \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) \
    X(short, short) X(int, int) X(long, long) X(longlong, long long)

#define REDUCE_ORDERED_TYPES(X) \
    X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) X(longlong, long long) \
    X(ptrdiff, ptrdiff_t) X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) \
    X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) \
    X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) \
    X(size, size_t) X(float, float) X(double, double) X(longdouble, long double)

#define REDUCE_COMPLEX_TYPES(X) X(complexd, double _Complex) X(complexf, float _Complex)

/* Active-set reductions (deprecated). */
#define TO_ALL_BITWISE_TYPES(X) X(short, short) X(int, int) X(long, long) X(longlong, long long)
#define TO_ALL_ORDERED_TYPES(X) \
    TO_ALL_BITWISE_TYPES(X) X(float, float) X(double, double) X(longdouble, long double)

/* Sized forms: X(BITS, TYPE of that size). */
struct bits128 { uint64_t low, high; };
#define SIZES(X) X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t) X(128, struct bits128)

#endif
