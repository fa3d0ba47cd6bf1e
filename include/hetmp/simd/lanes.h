/* Part of hetmp/simd.h: what every lane type has: memory, constants, lanes,
 * comparisons, logic, shuffles, sums. Included once a type. Not for direct inclusion. */

#define HETMP_LOOSE HETMP_SIMD_PASTE(hetmp_loose_, HETMP_T)
#define HETMP_TIGHT HETMP_SIMD_PASTE(hetmp_tight_, HETMP_T)
typedef HETMP_V HETMP_LOOSE __attribute__((aligned(1), may_alias));
typedef HETMP_V HETMP_TIGHT __attribute__((may_alias));

/* ZERO(): 0 in every lane. SET1(x): x in every lane. */
#if !HETMP_OWN(ZERO)
HETMP_SIMD_FN HETMP_V HETMP_OP(ZERO)(void) {
    const HETMP_V zero = {0};
    return zero;
}
#endif
#if !HETMP_OWN(SET1)
HETMP_SIMD_FN HETMP_V HETMP_OP(SET1)(HETMP_L x) {
    /* x - 0 keeps -0, and a signalling NaN where the compiler knows that x - 0 is x. */
    const HETMP_V zero = {0};
    return x - zero;
}
#endif

/* IOTA(): 0, 1, 2, ... */
#if !HETMP_OWN(IOTA)
HETMP_SIMD_FN HETMP_V HETMP_OP(IOTA)(void) {
    const HETMP_V lane = {HETMP_SEQ(HETMP_N)(HETMP_AT_SAME, 0)};
    return lane;
}
#endif

/* LOAD(p), LOADU(p): SIZE lanes from p, which needs no alignment. LOADA(p): p is a
 * multiple of HETMP_SIMD_BYTES. STORE(p, v), STOREU(p, v), STOREA(p, v): the reverse. */
#if !HETMP_OWN(LOAD)
HETMP_SIMD_FN HETMP_V HETMP_OP(LOAD)(const HETMP_L *p) { return *(const HETMP_LOOSE *)p; }
#endif
#if !HETMP_OWN(LOADU)
HETMP_SIMD_FN HETMP_V HETMP_OP(LOADU)(const HETMP_L *p) { return *(const HETMP_LOOSE *)p; }
#endif
#if !HETMP_OWN(LOADA)
HETMP_SIMD_FN HETMP_V HETMP_OP(LOADA)(const HETMP_L *p) { return *(const HETMP_TIGHT *)p; }
#endif
#if !HETMP_OWN(STORE)
HETMP_SIMD_FN void HETMP_OP(STORE)(HETMP_L *p, HETMP_V v) { *(HETMP_LOOSE *)p = v; }
#endif
#if !HETMP_OWN(STOREU)
HETMP_SIMD_FN void HETMP_OP(STOREU)(HETMP_L *p, HETMP_V v) { *(HETMP_LOOSE *)p = v; }
#endif
#if !HETMP_OWN(STOREA)
HETMP_SIMD_FN void HETMP_OP(STOREA)(HETMP_L *p, HETMP_V v) { *(HETMP_TIGHT *)p = v; }
#endif

/* LOAD_MASK(p, m): lanes where m is true; the others are 0 and their memory is not
 * touched. STORE_MASK(p, m, v): writes the lanes where m is true and nothing else. */
#if !HETMP_OWN(LOAD_MASK)
HETMP_SIMD_FN HETMP_V HETMP_OP(LOAD_MASK)(const HETMP_L *p, HETMP_M m) {
    HETMP_V r = {0};
    for (unsigned i = 0; i < HETMP_N; i++)
        if (HETMP_MOP(GET)(m, i))
            r[i] = p[i];
    return r;
}
#endif
#if !HETMP_OWN(STORE_MASK)
HETMP_SIMD_FN void HETMP_OP(STORE_MASK)(HETMP_L *p, HETMP_M m, HETMP_V v) {
    for (unsigned i = 0; i < HETMP_N; i++)
        if (HETMP_MOP(GET)(m, i))
            p[i] = v[i];
}
#endif

/* LOAD_N(p, n): the first n lanes, as by LOAD_MASK; all if n is SIZE or more.
 * STORE_N(p, n, v): writes the first n lanes only. For the last, partial vector of an array. */
#if !HETMP_OWN(LOAD_N)
HETMP_SIMD_FN HETMP_V HETMP_OP(LOAD_N)(const HETMP_L *p, size_t n) {
#if HETMP_OWN(LOAD_MASK)
    return HETMP_OP(LOAD_MASK)(p, HETMP_MOP(FIRST_N)(n));
#else
    HETMP_V r = {0};
    for (size_t i = 0; i < n && i < HETMP_N; i++) {
        __asm__ volatile(""); /* or the compiler calls memcpy for a few lanes */
        r[i] = p[i];
    }
    return r;
#endif
}
#endif
#if !HETMP_OWN(STORE_N)
HETMP_SIMD_FN void HETMP_OP(STORE_N)(HETMP_L *p, size_t n, HETMP_V v) {
#if HETMP_OWN(STORE_MASK)
    HETMP_OP(STORE_MASK)(p, HETMP_MOP(FIRST_N)(n), v);
#else
    for (size_t i = 0; i < n && i < HETMP_N; i++) {
        __asm__ volatile("");
        p[i] = v[i];
    }
#endif
}
#endif

/* LOAD_STRIDE(p, s): lane i is p[i * s]; s counts lanes and may be negative or 0.
 * STORE_STRIDE(p, s, v): the reverse, in the order of the lanes. */
#if !HETMP_OWN(LOAD_STRIDE)
HETMP_SIMD_FN HETMP_V HETMP_OP(LOAD_STRIDE)(const HETMP_L *p, ptrdiff_t s) {
    HETMP_V r = {0};
    for (ptrdiff_t i = 0; i < HETMP_N; i++)
        r[i] = p[i * s];
    return r;
}
#endif
#if !HETMP_OWN(STORE_STRIDE)
HETMP_SIMD_FN void HETMP_OP(STORE_STRIDE)(HETMP_L *p, ptrdiff_t s, HETMP_V v) {
    for (ptrdiff_t i = 0; i < HETMP_N; i++)
        p[i * s] = v[i];
}
#endif

#if HETMP_W >= 32
/* GATHER(p, i): each lane from p[i], i being the signed vector of that lane width; 32
 * and 64 bits only. SCATTER(p, i, v): the reverse; of equal indexes the highest lane stays. */
#if !HETMP_OWN(GATHER)
HETMP_SIMD_FN HETMP_V HETMP_OP(GATHER)(const HETMP_L *p, HETMP_SV index) {
    HETMP_V r = {0};
    for (unsigned i = 0; i < HETMP_N; i++)
        r[i] = p[index[i]];
    return r;
}
#endif
#if !HETMP_OWN(SCATTER)
HETMP_SIMD_FN void HETMP_OP(SCATTER)(HETMP_L *p, HETMP_SV index, HETMP_V v) {
    for (unsigned i = 0; i < HETMP_N; i++)
        p[index[i]] = v[i];
}
#endif
#endif

/* EXTRACT(v, i): lane i modulo SIZE. INSERT(v, i, x): v with that lane replaced by x. */
#if !HETMP_OWN(EXTRACT)
HETMP_SIMD_FN HETMP_L HETMP_OP(EXTRACT)(HETMP_V v, size_t i) { return v[i % HETMP_N]; }
#endif
#if !HETMP_OWN(INSERT)
HETMP_SIMD_FN HETMP_V HETMP_OP(INSERT)(HETMP_V v, size_t i, HETMP_L x) {
    v[i % HETMP_N] = x;
    return v;
}
#endif

/* EQ(a, b) NE LT LE GT GE: a mask. With a NaN all are false but NE, which is true. */
#if !HETMP_OWN(EQ)
HETMP_SIMD_FN HETMP_M HETMP_OP(EQ)(HETMP_V a, HETMP_V b) { return (HETMP_M)(a == b); }
#endif
#if !HETMP_OWN(NE)
HETMP_SIMD_FN HETMP_M HETMP_OP(NE)(HETMP_V a, HETMP_V b) { return (HETMP_M)(a != b); }
#endif
#if !HETMP_OWN(LT)
HETMP_SIMD_FN HETMP_M HETMP_OP(LT)(HETMP_V a, HETMP_V b) { return (HETMP_M)(a < b); }
#endif
#if !HETMP_OWN(LE)
HETMP_SIMD_FN HETMP_M HETMP_OP(LE)(HETMP_V a, HETMP_V b) { return (HETMP_M)(a <= b); }
#endif
#if !HETMP_OWN(GT)
HETMP_SIMD_FN HETMP_M HETMP_OP(GT)(HETMP_V a, HETMP_V b) { return (HETMP_M)(a > b); }
#endif
#if !HETMP_OWN(GE)
HETMP_SIMD_FN HETMP_M HETMP_OP(GE)(HETMP_V a, HETMP_V b) { return (HETMP_M)(a >= b); }
#endif

/* SELECT(m, a, b): a where m is true, b elsewhere. */
#if !HETMP_OWN(SELECT)
HETMP_SIMD_FN HETMP_V HETMP_OP(SELECT)(HETMP_M m, HETMP_V a, HETMP_V b) {
    const HETMP_SV on = HETMP_MOP(TO_VI)(m);
    return (HETMP_V)((on & (HETMP_SV)a) | (~on & (HETMP_SV)b));
}
#endif

/* AND(a, b) OR XOR, NOT(a), ANDNOT(a, b), BITSEL(c, a, b): of the bits, also those of
 * floating-point lanes. ANDNOT is ~a & b; BITSEL is (c & a) | (~c & b). */
#if !HETMP_OWN(AND)
HETMP_SIMD_FN HETMP_V HETMP_OP(AND)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)((HETMP_UV)a & (HETMP_UV)b);
}
#endif
#if !HETMP_OWN(OR)
HETMP_SIMD_FN HETMP_V HETMP_OP(OR)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)((HETMP_UV)a | (HETMP_UV)b);
}
#endif
#if !HETMP_OWN(XOR)
HETMP_SIMD_FN HETMP_V HETMP_OP(XOR)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)((HETMP_UV)a ^ (HETMP_UV)b);
}
#endif
#if !HETMP_OWN(NOT)
HETMP_SIMD_FN HETMP_V HETMP_OP(NOT)(HETMP_V a) { return (HETMP_V)~(HETMP_UV)a; }
#endif
#if !HETMP_OWN(ANDNOT)
HETMP_SIMD_FN HETMP_V HETMP_OP(ANDNOT)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)(~(HETMP_UV)a & (HETMP_UV)b);
}
#endif
#if !HETMP_OWN(BITSEL)
HETMP_SIMD_FN HETMP_V HETMP_OP(BITSEL)(HETMP_V c, HETMP_V a, HETMP_V b) {
    return (HETMP_V)((((HETMP_UV)a ^ (HETMP_UV)b) & (HETMP_UV)c) ^ (HETMP_UV)b);
}
#endif

/* REVERSE(v): the last lane first. SWAP(v): each even lane exchanged with the odd one after it. */
#if !HETMP_OWN(REVERSE)
HETMP_SIMD_FN HETMP_V HETMP_OP(REVERSE)(HETMP_V v) { return HETMP_SHUFFLE(v, v, HETMP_AT_REVERSE); }
#endif
#if !HETMP_OWN(SWAP)
HETMP_SIMD_FN HETMP_V HETMP_OP(SWAP)(HETMP_V v) { return HETMP_SHUFFLE(v, v, HETMP_AT_XOR1); }
#endif

/* INTERLEAVE_LO(a, b): a0 b0 a1 b1 ..., from the lower halves of the whole vectors.
 * INTERLEAVE_HI(a, b): the same from the upper halves. EVEN(a, b): a0 a2 ... b0 b2 ...
 * ODD(a, b): a1 a3 ... b1 b3 ... */
#if !HETMP_OWN(INTERLEAVE_LO)
HETMP_SIMD_FN HETMP_V HETMP_OP(INTERLEAVE_LO)(HETMP_V a, HETMP_V b) {
    return HETMP_SHUFFLE(a, b, HETMP_AT_LOW);
}
#endif
#if !HETMP_OWN(INTERLEAVE_HI)
HETMP_SIMD_FN HETMP_V HETMP_OP(INTERLEAVE_HI)(HETMP_V a, HETMP_V b) {
    return HETMP_SHUFFLE(a, b, HETMP_AT_HIGH);
}
#endif
#if !HETMP_OWN(EVEN)
HETMP_SIMD_FN HETMP_V HETMP_OP(EVEN)(HETMP_V a, HETMP_V b) {
    return HETMP_SHUFFLE(a, b, HETMP_AT_EVEN);
}
#endif
#if !HETMP_OWN(ODD)
HETMP_SIMD_FN HETMP_V HETMP_OP(ODD)(HETMP_V a, HETMP_V b) {
    return HETMP_SHUFFLE(a, b, HETMP_AT_ODD);
}
#endif

/* LOAD2(p, &a, &b) LOAD3(p, &a, &b, &c) LOAD4(p, &a, &b, &c, &d): structures of 2, 3 or 4 equal
 * members, SIZE of them, from p, which needs no alignment: lane i of a is p[2 * i], of b
 * p[2 * i + 1], and so on. STORE2(p, a, b) STORE3 STORE4: the reverse. */
#if !HETMP_OWN(LOAD2)
HETMP_SIMD_FN void HETMP_OP(LOAD2)(const HETMP_L *p, HETMP_V *a, HETMP_V *b) {
    const HETMP_V x = HETMP_OP(LOAD)(p), y = HETMP_OP(LOAD)(p + HETMP_N);
    *a = HETMP_OP(EVEN)(x, y);
    *b = HETMP_OP(ODD)(x, y);
}
#endif
#if !HETMP_OWN(LOAD3)
HETMP_SIMD_FN void HETMP_OP(LOAD3)(const HETMP_L *p, HETMP_V *a, HETMP_V *b, HETMP_V *c) {
    const HETMP_V x = HETMP_OP(LOAD)(p), y = HETMP_OP(LOAD)(p + HETMP_N);
    const HETMP_V z = HETMP_OP(LOAD)(p + 2 * HETMP_N);
    *a = HETMP_THIRD(x, y, z, OF, 0);
    *b = HETMP_THIRD(x, y, z, OF, 1);
    *c = HETMP_THIRD(x, y, z, OF, 2);
}
#endif
#if !HETMP_OWN(LOAD4)
HETMP_SIMD_FN void HETMP_OP(LOAD4)(const HETMP_L *p, HETMP_V *a, HETMP_V *b, HETMP_V *c,
                                   HETMP_V *d) {
    HETMP_V even[2], odd[2];
    HETMP_OP(LOAD2)(p, &even[0], &odd[0]);
    HETMP_OP(LOAD2)(p + 2 * HETMP_N, &even[1], &odd[1]);
    *a = HETMP_OP(EVEN)(even[0], even[1]);
    *b = HETMP_OP(EVEN)(odd[0], odd[1]);
    *c = HETMP_OP(ODD)(even[0], even[1]);
    *d = HETMP_OP(ODD)(odd[0], odd[1]);
}
#endif
#if !HETMP_OWN(STORE2)
HETMP_SIMD_FN void HETMP_OP(STORE2)(HETMP_L *p, HETMP_V a, HETMP_V b) {
    HETMP_OP(STORE)(p, HETMP_OP(INTERLEAVE_LO)(a, b));
    HETMP_OP(STORE)(p + HETMP_N, HETMP_OP(INTERLEAVE_HI)(a, b));
}
#endif
#if !HETMP_OWN(STORE3)
HETMP_SIMD_FN void HETMP_OP(STORE3)(HETMP_L *p, HETMP_V a, HETMP_V b, HETMP_V c) {
    HETMP_OP(STORE)(p, HETMP_THIRD(a, b, c, TO, 0));
    HETMP_OP(STORE)(p + HETMP_N, HETMP_THIRD(a, b, c, TO, 1));
    HETMP_OP(STORE)(p + 2 * HETMP_N, HETMP_THIRD(a, b, c, TO, 2));
}
#endif
#if !HETMP_OWN(STORE4)
HETMP_SIMD_FN void HETMP_OP(STORE4)(HETMP_L *p, HETMP_V a, HETMP_V b, HETMP_V c, HETMP_V d) {
    HETMP_OP(STORE2)(p, HETMP_OP(INTERLEAVE_LO)(a, c), HETMP_OP(INTERLEAVE_LO)(b, d));
    HETMP_OP(STORE2)(p + 2 * HETMP_N, HETMP_OP(INTERLEAVE_HI)(a, c), HETMP_OP(INTERLEAVE_HI)(b, d));
}
#endif

/* PERMUTE(v, i): lane k of the result is lane i[k] modulo SIZE of v; i is the unsigned
 * vector of that lane width. */
#if !HETMP_OWN(PERMUTE)
HETMP_SIMD_FN HETMP_V HETMP_OP(PERMUTE)(HETMP_V v, HETMP_UV index) {
#ifdef __clang__
    HETMP_V r = {0};
    for (unsigned i = 0; i < HETMP_N; i++)
        r[i] = v[index[i] % HETMP_N];
    return r;
#else
    return __builtin_shuffle(v, index);
#endif
}
#endif

/* SLIDE(a, b, n): SIZE lanes from lane n of a followed by b; b if n is SIZE or more.
 * ROTATE(v, n): lane i of the result is lane i + n, modulo SIZE, of v. */
#if !HETMP_OWN(SLIDE)
HETMP_SIMD_FN HETMP_V HETMP_OP(SLIDE)(HETMP_V a, HETMP_V b, size_t n) {
    HETMP_V both[2];
    n = n < HETMP_N ? n : HETMP_N;
#ifndef __clang__
    if (__builtin_constant_p(n) && n < HETMP_N) {
        const HETMP_UV lane = {HETMP_SEQ(HETMP_N)(HETMP_AT_SAME, 0)};
        return __builtin_shuffle(a, b, lane + (HETMP_UL)n);
    }
#endif
    both[0] = a;
    both[1] = b;
    return *(const HETMP_LOOSE *)((const HETMP_L *)both + n);
}
#endif
#if !HETMP_OWN(ROTATE)
HETMP_SIMD_FN HETMP_V HETMP_OP(ROTATE)(HETMP_V v, size_t n) {
    return HETMP_OP(SLIDE)(v, v, n % HETMP_N);
}
#endif

/* BROADCAST(v, i): lane i modulo SIZE in every lane. */
#if !HETMP_OWN(BROADCAST)
HETMP_SIMD_FN HETMP_V HETMP_OP(BROADCAST)(HETMP_V v, size_t i) {
    const HETMP_UV zero = {0};
    const HETMP_UV index = zero + (HETMP_UL)(i % HETMP_N);
    return HETMP_OP(PERMUTE)(v, index);
}
#endif

/* COMPRESS(m, v): the lanes of v where m is true, in their order from lane 0 on; 0 in the rest.
 * EXPAND(m, v): the reverse: lanes 0, 1, ... of v, in the lanes where m is true; 0 in the others.
 * COMPRESS_STORE(p, m, v): writes the lanes where m is true to p[0], p[1], ... and nothing
 * else; how many they are. */
#if !HETMP_OWN(COMPRESS)
HETMP_SIMD_FN HETMP_V HETMP_OP(COMPRESS)(HETMP_M m, HETMP_V v) {
    const HETMP_V zero = {0};
    HETMP_V r = v;
    size_t n = 0;
    for (unsigned i = 0; i < HETMP_N; i++) {
        r[n] = v[i]; /* stays only where m is true */
        n += (size_t)HETMP_MOP(GET)(m, i);
    }
    return HETMP_OP(SELECT)(HETMP_MOP(FIRST_N)(n), r, zero);
}
#endif
#if !HETMP_OWN(EXPAND)
HETMP_SIMD_FN HETMP_V HETMP_OP(EXPAND)(HETMP_M m, HETMP_V v) {
    const HETMP_V zero = {0};
    HETMP_V r = v;
    size_t n = 0;
    for (unsigned i = 0; i < HETMP_N; i++) {
        r[i] = v[n];
        n += (size_t)HETMP_MOP(GET)(m, i);
    }
    return HETMP_OP(SELECT)(m, r, zero);
}
#endif
#if !HETMP_OWN(COMPRESS_STORE)
HETMP_SIMD_FN size_t HETMP_OP(COMPRESS_STORE)(HETMP_L *p, HETMP_M m, HETMP_V v) {
    const size_t n = (size_t)HETMP_MOP(COUNT)(m);
    HETMP_OP(STORE_N)(p, n, HETMP_OP(COMPRESS)(m, v));
    return n;
}
#endif

#if HETMP_SIMD_PASTE(HETMP_CLASS_, HETMP_C) == HETMP_CLASS_F
#include "floats.h"
#else
#include "ints.h"
#endif

/* MASK_ADD(r, m, a, b) MASK_SUB MASK_MUL MASK_DIV MASK_MIN MASK_MAX, MASK_MULADD(r, m, a, b, c); of integers MASK_REM
 * MASK_ADDS MASK_SUBS, too: the operation where m is true, r elsewhere. */
#define HETMP_MASKED(op) \
    HETMP_SIMD_FN HETMP_V HETMP_NAME(HETMP_T, _MASK_##op)(HETMP_V r, HETMP_M m, HETMP_V a, HETMP_V b) { \
        return HETMP_OP(SELECT)(m, HETMP_NAME(HETMP_T, _##op)(a, b), r); \
    }
HETMP_MASKED(ADD)
HETMP_MASKED(SUB)
HETMP_MASKED(MUL)
HETMP_MASKED(DIV)
HETMP_MASKED(MIN)
HETMP_MASKED(MAX)
#if HETMP_SIMD_PASTE(HETMP_CLASS_, HETMP_C) != HETMP_CLASS_F
HETMP_MASKED(REM)
HETMP_MASKED(ADDS)
HETMP_MASKED(SUBS)
#endif
HETMP_SIMD_FN HETMP_V HETMP_OP(MASK_MULADD)(HETMP_V r, HETMP_M m, HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(SELECT)(m, HETMP_OP(MULADD)(a, b, c), r);
}
#undef HETMP_MASKED

/* REDUCE_ADD(v) REDUCE_MIN REDUCE_MAX: ADD, MIN or MAX of all lanes, in this order: lane i
 * with lane i + SIZE/2, the results likewise, until one is left. REDUCE_AND(v) REDUCE_OR
 * REDUCE_XOR: integers only. */
/* Every lane takes part each time; an exchange of neighbours, unlike a rotation, stays within
 * the parts that few instructions cross. */
#if HETMP_SIMD_PASTE(HETMP_CLASS_, HETMP_C) == HETMP_CLASS_F || HETMP_W == 64 || !HETMP_FULL
#define HETMP_NEAR1(r) HETMP_SHUFFLE(r, r, HETMP_AT_XOR1)
#define HETMP_NEAR2(r) HETMP_SHUFFLE(r, r, HETMP_AT_XOR2)
#define HETMP_NEAR4(r) HETMP_SHUFFLE(r, r, HETMP_AT_XOR4)
#else
/* Of narrow integers a shift of wider lanes brings the neighbour down, also where there is no
 * shuffle of bytes. What that leaves in the upper lanes never reaches lane 0. */
#if HETMP_W == 8
#define HETMP_NEAR1(r) ((HETMP_V)((_VU16)r >> 8))
#define HETMP_NEAR2(r) ((HETMP_V)((_VU32)r >> 16))
#define HETMP_NEAR4(r) ((HETMP_V)((_VU64)r >> 32))
#elif HETMP_W == 16
#define HETMP_NEAR1(r) ((HETMP_V)((_VU32)r >> 16))
#define HETMP_NEAR2(r) ((HETMP_V)((_VU64)r >> 32))
#define HETMP_NEAR4(r) HETMP_SHUFFLE(r, r, HETMP_AT_XOR4)
#else
#define HETMP_NEAR1(r) ((HETMP_V)((_VU64)r >> 32))
#define HETMP_NEAR2(r) HETMP_SHUFFLE(r, r, HETMP_AT_XOR2)
#define HETMP_NEAR4(r) HETMP_SHUFFLE(r, r, HETMP_AT_XOR4)
#endif
#endif
#define HETMP_FOLD_2(op) r = op(r, HETMP_NEAR1(r))
#define HETMP_FOLD_4(op) r = op(r, HETMP_NEAR2(r)), HETMP_FOLD_2(op)
#define HETMP_FOLD_8(op) r = op(r, HETMP_NEAR4(r)), HETMP_FOLD_4(op)
#define HETMP_FOLD_16(op) r = op(r, HETMP_SHUFFLE(r, r, HETMP_AT_XOR8)), HETMP_FOLD_8(op)
#define HETMP_FOLD_32(op) r = op(r, HETMP_SHUFFLE(r, r, HETMP_AT_XOR16)), HETMP_FOLD_16(op)
#define HETMP_FOLD_64(op) r = op(r, HETMP_SHUFFLE(r, r, HETMP_AT_XOR32)), HETMP_FOLD_32(op)
#define HETMP_FOLD_128(op) r = op(r, HETMP_SHUFFLE(r, r, HETMP_AT_XOR64)), HETMP_FOLD_64(op)
#define HETMP_FOLD(op) HETMP_SIMD_PASTE(HETMP_FOLD_, HETMP_N)(op)
#if !HETMP_OWN(REDUCE_ADD)
HETMP_SIMD_FN HETMP_L HETMP_OP(REDUCE_ADD)(HETMP_V r) {
    HETMP_FOLD(HETMP_OP(ADD));
    return r[0];
}
#endif
#if !HETMP_OWN(REDUCE_MIN)
HETMP_SIMD_FN HETMP_L HETMP_OP(REDUCE_MIN)(HETMP_V r) {
    HETMP_FOLD(HETMP_OP(MIN));
    return r[0];
}
#endif
#if !HETMP_OWN(REDUCE_MAX)
HETMP_SIMD_FN HETMP_L HETMP_OP(REDUCE_MAX)(HETMP_V r) {
    HETMP_FOLD(HETMP_OP(MAX));
    return r[0];
}
#endif
#if HETMP_SIMD_PASTE(HETMP_CLASS_, HETMP_C) != HETMP_CLASS_F
#if !HETMP_OWN(REDUCE_AND)
HETMP_SIMD_FN HETMP_L HETMP_OP(REDUCE_AND)(HETMP_V r) {
    HETMP_FOLD(HETMP_OP(AND));
    return r[0];
}
#endif
#if !HETMP_OWN(REDUCE_OR)
HETMP_SIMD_FN HETMP_L HETMP_OP(REDUCE_OR)(HETMP_V r) {
    HETMP_FOLD(HETMP_OP(OR));
    return r[0];
}
#endif
#if !HETMP_OWN(REDUCE_XOR)
HETMP_SIMD_FN HETMP_L HETMP_OP(REDUCE_XOR)(HETMP_V r) {
    HETMP_FOLD(HETMP_OP(XOR));
    return r[0];
}
#endif
#endif

#undef HETMP_LOOSE
#undef HETMP_TIGHT
#undef HETMP_NEAR1
#undef HETMP_NEAR2
#undef HETMP_NEAR4
#undef HETMP_FOLD
#undef HETMP_FOLD_2
#undef HETMP_FOLD_4
#undef HETMP_FOLD_8
#undef HETMP_FOLD_16
#undef HETMP_FOLD_32
#undef HETMP_FOLD_64
#undef HETMP_FOLD_128
#undef HETMP_T
#undef HETMP_L
#undef HETMP_W
#undef HETMP_R
