/* Minimum and maximum by the entries that objects made by older compilers call, every type: many threads at once,
   values that stay as they are, NaNs, and variables that are not aligned.
   hetmp-test: threads=1,3 */
#include "../check.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

#define N 4000
int __kmpc_global_thread_num(void *);

#define ENTRIES(name, type)                                          \
    void __kmpc_atomic_##name##_min(void *, int, type *, type);      \
    void __kmpc_atomic_##name##_max(void *, int, type *, type);      \
    type __kmpc_atomic_##name##_min_cpt(void *, int, type *, type, int); \
    type __kmpc_atomic_##name##_max_cpt(void *, int, type *, type, int);
ENTRIES(fixed1, int8_t)
ENTRIES(fixed2, int16_t)
ENTRIES(fixed4, int32_t)
ENTRIES(fixed8, int64_t)
ENTRIES(float4, float)
ENTRIES(float8, double)

/* Values of both signs, none of which is the last one. */
static int value(int k, int span) { return (int)(k * 7919L % (2 * span)) - span; }

#define TRY(name, type, span)                                                              \
    do {                                                                                   \
        type least = 3, most = 3, got;                                                     \
        struct __attribute__((packed)) { char c; type least, most; char d; } odd = {1, 3, 3, 2}; \
        _Pragma("omp parallel for schedule(static, 1)")                                    \
        for (int k = 0; k < N; k++) {                                                      \
            int gtid = __kmpc_global_thread_num(0);                                        \
            type v = (type)value(k, span);                                                 \
            __kmpc_atomic_##name##_min(0, gtid, &least, v);                                \
            __kmpc_atomic_##name##_max(0, gtid, &most, v);                                 \
        }                                                                                  \
        CHECK(least == (type)-(span));                                                     \
        CHECK(most == (type)((span) - 1));                                                 \
        for (int k = 0; k < 20; k++) {                                                     \
            type v = (type)value(k, span), l, m;                                           \
            void *at[2] = {(char *)&odd + 1, (char *)&odd + 1 + sizeof v};                 \
            memcpy(&l, at[0], sizeof l);                                                   \
            memcpy(&m, at[1], sizeof m);                                                   \
            __kmpc_atomic_##name##_min(0, 0, at[0], v);                                    \
            __kmpc_atomic_##name##_max(0, 0, at[1], v);                                    \
            CHECK(odd.least == (v < l ? v : l));                                           \
            CHECK(odd.most == (v > m ? v : m));                                            \
        }                                                                                  \
        CHECK(odd.c == 1 && odd.d == 2);                                                   \
        got = __kmpc_atomic_##name##_max_cpt(0, 0, &most, (type)5, 0);                     \
        CHECK(got == (type)((span) - 1));                                                  \
        got = __kmpc_atomic_##name##_min_cpt(0, 0, &most, (type)5, 1);                     \
        CHECK(got == 5 && most == 5);                                                      \
        printf(#name " %g %g %g %g\n", (double)least, (double)most, (double)odd.least, (double)odd.most); \
    } while (0)

#define NANS(name, type)                                              \
    do {                                                              \
        type x = 2, y = NAN;                                          \
        __kmpc_atomic_##name##_min(0, 0, &x, NAN);                    \
        __kmpc_atomic_##name##_max(0, 0, &x, NAN);                    \
        __kmpc_atomic_##name##_min(0, 0, &y, 1);                      \
        __kmpc_atomic_##name##_max(0, 0, &y, 1);                      \
        printf(#name " keeps %g, and a NaN: %d\n", (double)x, isnan(y) != 0); \
    } while (0)

int main(void)
{
    TRY(fixed1, int8_t, 100);
    TRY(fixed2, int16_t, 1000);
    TRY(fixed4, int32_t, 1000);
    TRY(fixed8, int64_t, 1000);
    TRY(float4, float, 1000);
    TRY(float8, double, 1000);
    NANS(float4, float);
    NANS(float8, double);
    return check_end();
}
