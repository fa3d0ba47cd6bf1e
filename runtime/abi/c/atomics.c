/* Atomic constructs on types that Rust has not: long double, and complex numbers of three sizes.
 *
 * The lock of atomic constructs guards them all. Compilers of today emit other code for these constructs; the entries
 * are for objects that older ones made. */

#include <complex.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* Defined in src/kmpc/atomic.rs. */
HIDDEN void hetmp_atomic_begin(void);
HIDDEN void hetmp_atomic_end(void);

static inline void begin(void) { hetmp_atomic_begin(); }

static inline void end(void) { hetmp_atomic_end(); }

#define PLAIN(T, type, op, expression)                                          \
    HIDDEN void hetmp_atomic_##type##_##op(void *loc, int gtid, T *lhs, T rhs) { \
        (void)loc, (void)gtid;                                                  \
        begin();                                                                \
        T old = *lhs;                                                           \
        *lhs = expression;                                                      \
        end();                                                                  \
    }

#define CAPTURE(T, type, op, expression)                                                  \
    HIDDEN T hetmp_atomic_##type##_##op(void *loc, int gtid, T *lhs, T rhs, int flag) {    \
        (void)loc, (void)gtid;                                                            \
        begin();                                                                          \
        T old = *lhs, new = expression;                                                   \
        *lhs = new;                                                                       \
        end();                                                                            \
        return flag ? new : old;                                                          \
    }

/* The value goes where the fifth argument says. */
#define CAPTURE_OUT(T, type, op, expression)                                                        \
    HIDDEN void hetmp_atomic_##type##_##op(void *loc, int gtid, T *lhs, T rhs, T *out, int flag) {   \
        (void)loc, (void)gtid;                                                                      \
        begin();                                                                                    \
        T old = *lhs, new = expression;                                                             \
        *lhs = new;                                                                                 \
        end();                                                                                      \
        *out = flag ? new : old;                                                                    \
    }

#define READ(T, type)                                               \
    HIDDEN T hetmp_atomic_##type##_rd(void *loc, int gtid, T *lhs) { \
        (void)loc, (void)gtid;                                      \
        begin();                                                    \
        T old = *lhs;                                               \
        end();                                                      \
        return old;                                                 \
    }

#define SWAP(T, type)                                                       \
    HIDDEN T hetmp_atomic_##type##_swp(void *loc, int gtid, T *lhs, T rhs) { \
        (void)loc, (void)gtid;                                              \
        begin();                                                            \
        T old = *lhs;                                                       \
        *lhs = rhs;                                                         \
        end();                                                              \
        return old;                                                         \
    }

#define FAMILY(T, type, CAPTURED)               \
    PLAIN(T, type, add, old + rhs)              \
    PLAIN(T, type, sub, old - rhs)              \
    PLAIN(T, type, mul, old * rhs)              \
    PLAIN(T, type, div, old / rhs)              \
    PLAIN(T, type, sub_rev, rhs - old)          \
    PLAIN(T, type, div_rev, rhs / old)          \
    PLAIN(T, type, wr, ((void)old, rhs))        \
    CAPTURED(T, type, add_cpt, old + rhs)       \
    CAPTURED(T, type, sub_cpt, old - rhs)       \
    CAPTURED(T, type, mul_cpt, old * rhs)       \
    CAPTURED(T, type, div_cpt, old / rhs)       \
    CAPTURED(T, type, sub_cpt_rev, rhs - old)   \
    CAPTURED(T, type, div_cpt_rev, rhs / old)   \
    READ(T, type)

FAMILY(long double, float10, CAPTURE)
SWAP(long double, float10)
PLAIN(long double, float10, min, old < rhs ? old : rhs)
PLAIN(long double, float10, max, old > rhs ? old : rhs)
CAPTURE(long double, float10, min_cpt, old < rhs ? old : rhs)
CAPTURE(long double, float10, max_cpt, old > rhs ? old : rhs)

FAMILY(float _Complex, cmplx4, CAPTURE_OUT)
HIDDEN void hetmp_atomic_cmplx4_swp(
    void *loc, int gtid, float _Complex *lhs, float _Complex rhs, float _Complex *out) {
    (void)loc, (void)gtid;
    begin();
    *out = *lhs;
    *lhs = rhs;
    end();
}

#define MIXED(op, sign)                                                                        \
    HIDDEN void hetmp_atomic_cmplx4_##op##_cmplx8(                                             \
        void *loc, int gtid, float _Complex *lhs, double _Complex rhs) {                       \
        (void)loc, (void)gtid;                                                                 \
        begin();                                                                               \
        *lhs = (float _Complex)(*lhs sign rhs);                                                \
        end();                                                                                 \
    }
MIXED(add, +)
MIXED(sub, -)
MIXED(mul, *)
MIXED(div, /)

FAMILY(double _Complex, cmplx8, CAPTURE)
SWAP(double _Complex, cmplx8)

FAMILY(long double _Complex, cmplx10, CAPTURE)
SWAP(long double _Complex, cmplx10)
