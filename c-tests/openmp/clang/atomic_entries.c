/* Entries for atomic constructs that objects made by older compilers call: every type once.
   hetmp-test: threads=1,3 */
#include "../check.h"
#include <complex.h>
#include <stdint.h>

#define N 500
int __kmpc_global_thread_num(void *);
void __kmpc_atomic_fixed1_add(void *, int, int8_t *, int8_t);
int16_t __kmpc_atomic_fixed2_xor_cpt(void *, int, int16_t *, int16_t, int);
void __kmpc_atomic_fixed4_sub_rev(void *, int, int32_t *, int32_t);
int64_t __kmpc_atomic_fixed8_max_cpt(void *, int, int64_t *, int64_t, int);
void __kmpc_atomic_fixed8u_shr(void *, int, uint64_t *, uint64_t);
void __kmpc_atomic_fixed4_mul_float8(void *, int, int32_t *, double);
void __kmpc_atomic_float4_add_float8(void *, int, float *, double);
double __kmpc_atomic_float8_sub_cpt(void *, int, double *, double, int);
void __kmpc_atomic_float10_add(void *, int, long double *, long double);
long double __kmpc_atomic_float10_div_cpt_rev(void *, int, long double *, long double, int);
void __kmpc_atomic_cmplx4_mul_cpt(void *, int, float _Complex *, float _Complex, float _Complex *, int);
double _Complex __kmpc_atomic_cmplx8_add_cpt(void *, int, double _Complex *, double _Complex, int);
long double _Complex __kmpc_atomic_cmplx10_sub_cpt(void *, int, long double _Complex *, long double _Complex, int);
_Bool __kmpc_atomic_bool_4_cas_cpt(void *, int, int32_t *, int32_t, int32_t, int32_t *);
int64_t __kmpc_atomic_val_8_cas(void *, int, int64_t *, int64_t, int64_t);
void __kmpc_atomic_16(void *, int, void *, void *, void (*)(void *, void *, void *));

struct pair { int64_t a, b; };
static void add_pairs(void *out, void *x, void *y)
{
    struct pair *o = out, *p = x, *q = y;
    struct pair sum = { p->a + q->a, p->b + q->b };
    *o = sum;
}

int main(void)
{
    int8_t b = 0;
    int16_t w = 0;
    int32_t i = 7;
    int64_t l = 0;
    float f = 0;
    double d = 0;
    long double e = 0;
    double _Complex z = 0;
    long double _Complex ze = 0;
    struct pair p = { 0, 0 };
#pragma omp parallel
    {
        struct pair one = { 1, -1 };
        /* libomp queues by this number: two threads of one number would break its lock. */
        int gtid = __kmpc_global_thread_num(0);
#pragma omp for
        for (int k = 0; k < N; k++) {
            __kmpc_atomic_fixed1_add(0, gtid, &b, 1);
            __kmpc_atomic_fixed2_xor_cpt(0, gtid, &w, (int16_t)k, 1);
            __kmpc_atomic_fixed8_max_cpt(0, gtid, &l, k * 1000, 0);
            __kmpc_atomic_float4_add_float8(0, gtid, &f, 0.5);
            __kmpc_atomic_float8_sub_cpt(0, gtid, &d, 2.0, 1);
            __kmpc_atomic_float10_add(0, gtid, &e, 0.25L);
            __kmpc_atomic_cmplx8_add_cpt(0, gtid, &z, 1.0 + 2.0 * I, 1);
            __kmpc_atomic_cmplx10_sub_cpt(0, gtid, &ze, 1.0L * I, 1);
            __kmpc_atomic_16(0, gtid, &p, &one, add_pairs);
        }
    }
    __kmpc_atomic_fixed4_sub_rev(0, 0, &i, 10);
    printf("%d %d %d %lld %g %g %Lg\n", b, w, i, (long long)l, f, d, e);
    printf("%g %g %Lg %lld %lld\n", creal(z), cimag(z), cimagl(ze), (long long)p.a, (long long)p.b);
    uint64_t u = 1ull << 63;
    __kmpc_atomic_fixed8u_shr(0, 0, &u, 60);
    __kmpc_atomic_fixed4_mul_float8(0, 0, &i, 2.5);
    float _Complex c = 1 + I, out = 0;
    __kmpc_atomic_cmplx4_mul_cpt(0, 0, &c, 2 + I, &out, 0);
    printf("%llu %d %g %g %g %g\n", (unsigned long long)u, i, crealf(c), cimagf(c), crealf(out), cimagf(out));
    long double old = __kmpc_atomic_float10_div_cpt_rev(0, 0, &e, 250.0L, 0);
    printf("%Lg %Lg\n", old, e);
    int32_t seen = 0;
    int failed = __kmpc_atomic_bool_4_cas_cpt(0, 0, &i, 0, 1, &seen);
    long long before = __kmpc_atomic_val_8_cas(0, 0, &l, 499000, 5);
    printf("%d %d %lld %lld\n", failed, seen, before, (long long)l);
    return check_end();
}
