/* Every operation of the entries for atomic constructs on integers and floating point, plain and captured, on a
   variable that is aligned and on one that is not: values before and after. Then threads at once.
   hetmp-test: threads=1,3 */
#include "../check.h"
#include <stdint.h>

int __kmpc_global_thread_num(void *);

#define PLAIN(type, T, op) void __kmpc_atomic_##type##_##op(void *, int, T *, T);
#define CAPTURE(type, T, op) T __kmpc_atomic_##type##_##op##_cpt(void *, int, T *, T, int);
#define BOTH(type, T, op) PLAIN(type, T, op) CAPTURE(type, T, op)
#define REVERSED(type, T, op)              \
    PLAIN(type, T, op##_rev)               \
    T __kmpc_atomic_##type##_##op##_cpt_rev(void *, int, T *, T, int);
#define FLOATS(DO, R, type, T) \
    DO(type, T, add) DO(type, T, sub) DO(type, T, mul) DO(type, T, div) DO(type, T, min) DO(type, T, max) \
    R(type, T, sub) R(type, T, div)
#define INTEGERS(DO, R, type, T) \
    FLOATS(DO, R, type, T) DO(type, T, andb) DO(type, T, orb) DO(type, T, xor) DO(type, T, neqv) DO(type, T, eqv) \
    DO(type, T, andl) DO(type, T, orl) DO(type, T, shl) DO(type, T, shr) R(type, T, shl) R(type, T, shr)
#define ACCESS(type, T)                              \
    T __kmpc_atomic_##type##_rd(void *, int, T *);   \
    T __kmpc_atomic_##type##_swp(void *, int, T *, T); \
    void __kmpc_atomic_##type##_wr(void *, int, T *, T);
#define COMPARE(n, T)                                       \
    _Bool __kmpc_atomic_bool_##n##_cas(void *, int, T *, T, T); \
    T __kmpc_atomic_val_##n##_cas(void *, int, T *, T, T);      \
    _Bool __kmpc_atomic_bool_##n##_cas_cpt(void *, int, T *, T, T, T *); \
    T __kmpc_atomic_val_##n##_cas_cpt(void *, int, T *, T, T, T *);

#define SHOW(x) printf(" %g", (double)(x))
#define TRY(type, T, op)                                                                \
    for (int k = 0; k < 4; k++) {                                                       \
        printf(#type " " #op);                                                          \
        __kmpc_atomic_##type##_wr(0, gtid, p, values[k]);                               \
        __kmpc_atomic_##type##_##op(0, gtid, p, rhs[k]);                                \
        SHOW(__kmpc_atomic_##type##_rd(0, gtid, p));                                    \
        SHOW(__kmpc_atomic_##type##_##op##_cpt(0, gtid, p, rhs[k], 0));                 \
        SHOW(__kmpc_atomic_##type##_##op##_cpt(0, gtid, p, rhs[k], 1));                 \
        puts("");                                                                       \
    }
#define TRY_REVERSED(type, T, op)                                                       \
    for (int k = 0; k < 4; k++) {                                                       \
        printf(#type " " #op " reversed");                                              \
        __kmpc_atomic_##type##_wr(0, gtid, p, rhs[k]);                                  \
        __kmpc_atomic_##type##_##op##_rev(0, gtid, p, values[k]);                       \
        SHOW(__kmpc_atomic_##type##_swp(0, gtid, p, rhs[k]));                           \
        SHOW(__kmpc_atomic_##type##_##op##_cpt_rev(0, gtid, p, values[k], 1));          \
        puts("");                                                                       \
    }
#define TRY_COMPARE(n, T)                                                               \
    *p = 5, seen = 1;                                                                   \
    printf("cas " #n);                                                                  \
    SHOW(__kmpc_atomic_bool_##n##_cas(0, gtid, p, 4, 6)), SHOW(*p);                     \
    SHOW(__kmpc_atomic_bool_##n##_cas(0, gtid, p, 5, 6)), SHOW(*p);                     \
    SHOW(__kmpc_atomic_val_##n##_cas(0, gtid, p, 5, 7)), SHOW(*p);                      \
    SHOW(__kmpc_atomic_val_##n##_cas(0, gtid, p, 6, 7)), SHOW(*p);                      \
    SHOW(__kmpc_atomic_bool_##n##_cas_cpt(0, gtid, p, 1, 8, &seen)), SHOW(*p), SHOW(seen); \
    SHOW(__kmpc_atomic_bool_##n##_cas_cpt(0, gtid, p, 7, 8, &seen)), SHOW(*p);          \
    SHOW(__kmpc_atomic_val_##n##_cas_cpt(0, gtid, p, 8, 9, &seen)), SHOW(*p), SHOW(seen); \
    puts("");

/* A variable of the type behind one byte. */
#define OF(type, T, n, LIST, values_, rhs_, CAS)                 \
    LIST(BOTH, REVERSED, type, T)                                \
    ACCESS(type, T)                                              \
    static void with_##type(int gtid, T *p)                      \
    {                                                            \
        const T values[] = values_, rhs[] = rhs_;                \
        T seen;                                                  \
        (void)seen;                                              \
        LIST(TRY, TRY_REVERSED, type, T)                         \
        CAS(n, T)                                                \
    }                                                            \
    static struct __attribute__((packed)) {                      \
        char before;                                             \
        T x;                                                     \
    } packed_##type;                                             \
    static T plain_##type;
#define LIST_OF(...) { __VA_ARGS__ }
#define NOTHING(n, T)
COMPARE(1, int8_t)
COMPARE(2, int16_t)
COMPARE(4, int32_t)
COMPARE(8, int64_t)
OF(fixed1, int8_t, 1, INTEGERS, LIST_OF(7, -3, 0, 100), LIST_OF(2, 3, 1, 5), TRY_COMPARE)
OF(fixed2, int16_t, 2, INTEGERS, LIST_OF(7, -3, 0, 300), LIST_OF(2, 3, 1, 5), TRY_COMPARE)
OF(fixed4, int32_t, 4, INTEGERS, LIST_OF(7, -3, 0, 70000), LIST_OF(2, 3, 1, 5), TRY_COMPARE)
OF(fixed8, int64_t, 8, INTEGERS, LIST_OF(7, -3, 0, 1LL << 40), LIST_OF(2, 3, 1, 5), TRY_COMPARE)
OF(float4, float, 4, FLOATS, LIST_OF(7, -3, 0, 1e9f), LIST_OF(2, 3, 1, -5), NOTHING)
OF(float8, double, 8, FLOATS, LIST_OF(7, -3, 0, 1e99), LIST_OF(2, 3, 1, -5), NOTHING)

#define N 2000
int main(void)
{
    int me = __kmpc_global_thread_num(0);
    with_fixed1(me, &plain_fixed1);
    with_fixed2(me, &plain_fixed2), with_fixed2(me, (void *)((char *)&packed_fixed2 + 1));
    with_fixed4(me, &plain_fixed4), with_fixed4(me, (void *)((char *)&packed_fixed4 + 1));
    with_fixed8(me, &plain_fixed8), with_fixed8(me, (void *)((char *)&packed_fixed8 + 1));
    with_float4(me, &plain_float4), with_float4(me, (void *)((char *)&packed_float4 + 1));
    with_float8(me, &plain_float8), with_float8(me, (void *)((char *)&packed_float8 + 1));

    int8_t bits = 0;
    int16_t turned = 0;
    int32_t sum = 0, top = 0, *sum_in_pack = (void *)((char *)&packed_fixed4 + 1);
    int64_t taken = 0, last = 0;
    double most = 0;
    *sum_in_pack = 0;
#pragma omp parallel
    {
        int gtid = __kmpc_global_thread_num(0);
#pragma omp for
        for (int k = 1; k <= N; k++) {
            __kmpc_atomic_fixed4_add(0, gtid, &sum, 3);
            __kmpc_atomic_fixed4_sub(0, gtid, &sum, 1);
            __kmpc_atomic_fixed4_add(0, gtid, sum_in_pack, 2);
            __kmpc_atomic_fixed1_orb(0, gtid, &bits, (int8_t)(1 << k % 7));
            __kmpc_atomic_fixed2_xor(0, gtid, &turned, 0x11);
            __kmpc_atomic_fixed4_max(0, gtid, &top, k);
            __kmpc_atomic_float8_max(0, gtid, &most, k * 0.5);
            int64_t ticket = __kmpc_atomic_fixed8_add_cpt(0, gtid, &taken, 1, 1);
            /* Each ticket is given once: the sum of all is known. */
            __kmpc_atomic_fixed8_add(0, gtid, &last, ticket);
        }
    }
    CHECK(sum == 2 * N && *sum_in_pack == 2 * N);
    CHECK(bits == 127 && turned == 0 && top == N && most == N * 0.5);
    CHECK(taken == N && last == (int64_t)N * (N + 1) / 2);
    return check_end();
}
