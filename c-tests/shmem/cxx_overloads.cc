/* The type-generic names in C++, where the header has overloads for them: from templates, for every type of the tables,
 * with and without a context.
 * shmem-test: builds=default c++11 */
#include "shtest.h"
#include "types.h"
#include <complex>

namespace {

shmem_ctx_t ctx;

template <typename T> T *block(int n) {
    T *at = static_cast<T *>(shmem_calloc(static_cast<size_t>(n), sizeof(T)));
    CHECK(at != nullptr);
    return at;
}

template <typename T> void rma() {
    T source[8], found[8] = {};
    T *target = block<T>(8);
    uint64_t *sig = block<uint64_t>(1);
    for (int i = 0; i < 8; i++) source[i] = VALUE(T, me, i);
    shmem_barrier_all();
    shmem_p(&target[0], source[0], next);
    shmem_p(ctx, &target[1], source[1], next);
    shmem_put(&target[2], &source[2], 1, next);
    shmem_put(ctx, &target[3], &source[3], 1, next);
    shmem_put_nbi(&target[4], &source[4], 1, next);
    shmem_put_nbi(ctx, &target[5], &source[5], 1, next);
    shmem_iput(&target[6], &source[6], 1, 1, 1, next);
    shmem_iput(ctx, &target[7], &source[7], 1, 1, 1, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    for (int i = 0; i < 8; i++) CHECK(target[i] == VALUE(T, prev, i));
    found[0] = shmem_g(&target[0], next);
    found[1] = shmem_g(ctx, &target[1], next);
    shmem_get(&found[2], &target[2], 1, next);
    shmem_get(ctx, &found[3], &target[3], 1, next);
    shmem_get_nbi(&found[4], &target[4], 1, next);
    shmem_get_nbi(ctx, &found[5], &target[5], 1, next);
    shmem_iget(&found[6], &target[6], 1, 1, 1, next);
    shmem_iget(ctx, &found[7], &target[7], 1, 1, 1, next);
    shmem_quiet();
    shmem_ctx_quiet(ctx);
    for (int i = 0; i < 8; i++) CHECK(found[i] == source[i]);
    shmem_barrier_all();
    shmem_put_signal(&target[0], &source[1], 1, sig, 1, SHMEM_SIGNAL_ADD, next);
    shmem_put_signal(ctx, &target[1], &source[2], 1, sig, 1, SHMEM_SIGNAL_ADD, next);
    shmem_put_signal_nbi(&target[2], &source[3], 1, sig, 1, SHMEM_SIGNAL_ADD, next);
    shmem_put_signal_nbi(ctx, &target[3], &source[4], 1, sig, 1, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 4);
    for (int i = 0; i < 4; i++) CHECK(target[i] == VALUE(T, prev, i + 1));
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    T *wide = block<T>(npes * 2), *from = block<T>(npes * 2);
    for (int i = 0; i < npes * 2; i++) from[i] = VALUE(T, me, i);
    shmem_barrier_all();
    CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, wide, from, 2, npes - 1) == 0 && wide[1] == VALUE(T, npes - 1, 1));
    shmem_barrier_all();
    CHECK(shmem_collect(SHMEM_TEAM_WORLD, wide, from, 1) == 0 && wide[npes - 1] == VALUE(T, npes - 1, 0));
    shmem_barrier_all();
    CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, wide, from, 2) == 0 && wide[npes * 2 - 1] == VALUE(T, npes - 1, 1));
    shmem_barrier_all();
    CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, wide, from, 2) == 0);
    CHECK(wide[npes * 2 - 1] == VALUE(T, npes - 1, me * 2 + 1));
    shmem_barrier_all();
    CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, wide, from, 1, 1, 1) == 0 && wide[npes - 1] == VALUE(T, npes - 1, me));
    shmem_free(from);
    shmem_free(wide);
    shmem_free(sig);
    shmem_free(target);
}

template <typename T> void amo() {
    T *w = block<T>(2), got = 0;
    w[0] = w[1] = 10;
    shmem_barrier_all();
    CHECK(shmem_atomic_compare_swap(&w[0], T(10), T(20), next) == 10);
    CHECK(shmem_atomic_compare_swap(ctx, &w[0], T(20), T(30), next) == 20);
    CHECK(shmem_atomic_fetch_inc(&w[0], next) == 30 && shmem_atomic_fetch_inc(ctx, &w[0], next) == 31);
    CHECK(shmem_atomic_fetch_add(&w[0], T(2), next) == 32 && shmem_atomic_fetch_add(ctx, &w[0], T(2), next) == 34);
    shmem_atomic_inc(&w[0], next);
    shmem_atomic_inc(ctx, &w[0], next);
    shmem_atomic_add(&w[0], T(3), next);
    shmem_atomic_add(ctx, &w[0], T(3), next);
    shmem_atomic_fetch_inc_nbi(&got, &w[1], next);
    shmem_quiet();
    CHECK(got == 10);
    shmem_atomic_fetch_add_nbi(ctx, &got, &w[1], T(9), next);
    shmem_ctx_quiet(ctx);
    CHECK(got == 11);
    shmem_atomic_compare_swap_nbi(&got, &w[1], T(20), T(8), next);
    shmem_barrier_all();
    CHECK(got == 20 && w[0] == 44 && w[1] == 8);
    T values[2] = {44, 8};
    size_t indices[2];
    shmem_wait_until(&w[1], SHMEM_CMP_EQ, T(8));
    CHECK(shmem_test(&w[1], SHMEM_CMP_EQ, T(8)) && !shmem_test(&w[1], SHMEM_CMP_EQ, T(7)));
    shmem_wait_until_all(w, 2, nullptr, SHMEM_CMP_GT, T(7));
    CHECK(shmem_wait_until_any(w, 2, nullptr, SHMEM_CMP_EQ, T(8)) == 1);
    CHECK(shmem_wait_until_some(w, 2, indices, nullptr, SHMEM_CMP_GT, T(7)) == 2);
    CHECK(shmem_test_all(w, 2, nullptr, SHMEM_CMP_GT, T(7)));
    CHECK(shmem_test_any(w, 2, nullptr, SHMEM_CMP_EQ, T(44)) == 0);
    CHECK(shmem_test_some(w, 2, indices, nullptr, SHMEM_CMP_EQ, T(8)) == 1);
    shmem_wait_until_all_vector(w, 2, nullptr, SHMEM_CMP_EQ, values);
    CHECK(shmem_wait_until_any_vector(w, 2, nullptr, SHMEM_CMP_EQ, values) <= 1);
    CHECK(shmem_wait_until_some_vector(w, 2, indices, nullptr, SHMEM_CMP_EQ, values) == 2);
    CHECK(shmem_test_all_vector(w, 2, nullptr, SHMEM_CMP_EQ, values));
    CHECK(shmem_test_any_vector(w, 2, nullptr, SHMEM_CMP_EQ, values) <= 1);
    CHECK(shmem_test_some_vector(w, 2, indices, nullptr, SHMEM_CMP_EQ, values) == 2);
    shmem_free(w);
}

template <typename T> void extended() {
    T *w = block<T>(1), got = 0;
    *w = 1;
    shmem_barrier_all();
    CHECK(shmem_atomic_fetch(w, next) == 1 && shmem_atomic_fetch(ctx, w, next) == 1);
    CHECK(shmem_atomic_swap(w, T(2), next) == 1 && shmem_atomic_swap(ctx, w, T(3), next) == 2);
    shmem_atomic_fetch_nbi(&got, w, next);
    shmem_quiet();
    CHECK(got == 3);
    shmem_atomic_swap_nbi(ctx, &got, w, T(4), next);
    shmem_ctx_quiet(ctx);
    CHECK(got == 3);
    shmem_atomic_set(w, T(6), next);
    shmem_barrier_all();
    CHECK(*w == 6);
    shmem_barrier_all();
    shmem_atomic_set(ctx, w, T(7), next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK(*w == 7);
    shmem_free(w);
}

template <typename T> void bitwise() {
    T *w = block<T>(1);
    *w = 1;
    shmem_barrier_all();
    CHECK(shmem_atomic_fetch_or(w, T(6), next) == 1 && shmem_atomic_fetch_or(ctx, w, T(8), next) == 7);
    CHECK(shmem_atomic_fetch_and(w, T(14), next) == 15 && shmem_atomic_fetch_and(ctx, w, T(12), next) == 14);
    CHECK(shmem_atomic_fetch_xor(w, T(1), next) == 12 && shmem_atomic_fetch_xor(ctx, w, T(2), next) == 13);
    shmem_atomic_or(w, T(32), next);
    shmem_quiet();
    shmem_atomic_and(ctx, w, T(62), next);
    shmem_ctx_quiet(ctx);
    shmem_atomic_xor(w, T(2), next);
    shmem_barrier_all();
    CHECK(*w == 44);
    shmem_free(w);
}

template <typename T> void reduced() {
    T *w = block<T>(2);
    w[0] = T(me + 1);
    shmem_barrier_all();
    CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == T(npes));
    shmem_barrier_all();
    CHECK(shmem_min_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == T(1));
    shmem_free(w);
}

template <typename T> void summed() {
    T *w = block<T>(2);
    w[0] = T(2);
    shmem_barrier_all();
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == T(2 * npes));
    shmem_barrier_all();
    w[0] = T(1);
    shmem_barrier_all();
    CHECK(shmem_prod_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && w[1] == T(1));
    shmem_free(w);
}

/* C's complex types, as programs that are C and C++ at once have them, by their own names and the generic ones. */
template <typename T> struct OfC;
template <> struct OfC<double> {
    __extension__ typedef double _Complex type;
    static int sum(type *to, const type *from) { return shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, to, from, 1); }
    static int prod(type *to, const type *from) { return shmem_complexd_prod_reduce(SHMEM_TEAM_WORLD, to, from, 1); }
    static void old(type *to, const type *from, type *work, long *sync) {
        shmem_complexd_sum_to_all(to, from, 1, 0, 0, npes, work, sync);
    }
};
template <> struct OfC<float> {
    __extension__ typedef float _Complex type;
    static int sum(type *to, const type *from) { return shmem_complexf_sum_reduce(SHMEM_TEAM_WORLD, to, from, 1); }
    static int prod(type *to, const type *from) { return shmem_complexf_prod_reduce(SHMEM_TEAM_WORLD, to, from, 1); }
    static void old(type *to, const type *from, type *work, long *sync) {
        shmem_complexf_sum_to_all(to, from, 1, 0, 0, npes, work, sync);
    }
};
long complex_sync[SHMEM_REDUCE_SYNC_SIZE];

template <typename R> void of_c() {
    typedef typename OfC<R>::type T;
    T *w = block<T>(2), *work = block<T>(SHMEM_REDUCE_MIN_WRKDATA_SIZE);
    const auto is = [](T value, R real, R imaginary) {
        return __real__ value == real && __imag__ value == imaginary;
    };
    __real__ w[0] = 2;
    __imag__ w[0] = R(me);
    const R sum = R(npes * (npes - 1) / 2);
    shmem_barrier_all();
    CHECK(OfC<R>::sum(&w[1], &w[0]) == 0 && is(w[1], R(2 * npes), sum));
    shmem_barrier_all();
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, &w[1], &w[0], 1) == 0 && is(w[1], R(2 * npes), sum));
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) complex_sync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    OfC<R>::old(&w[1], &w[0], work, complex_sync);
    CHECK(is(w[1], R(2 * npes), sum));
    shmem_barrier_all();
    __real__ w[0] = 0;
    __imag__ w[0] = 1;
    shmem_barrier_all();
    /* Powers of i. */
    const R real[] = {1, 0, -1, 0}, imaginary[] = {0, 1, 0, -1};
    CHECK(OfC<R>::prod(&w[1], &w[0]) == 0 && is(w[1], real[npes % 4], imaginary[npes % 4]));
    shmem_free(work);
    shmem_free(w);
}

} // namespace

int main() {
    test_begin();
    CHECK(shmem_ctx_create(0, &ctx) == 0);
#define CALL_RMA(NAME, TYPE) rma<TYPE>();
#define CALL_AMO(NAME, TYPE) amo<TYPE>();
#define CALL_EXT(NAME, TYPE) extended<TYPE>();
#define CALL_BIT(NAME, TYPE) bitwise<TYPE>();
#define CALL_RED(NAME, TYPE) reduced<TYPE>(); summed<TYPE>();
    RMA_TYPES(CALL_RMA)
    AMO_TYPES(CALL_AMO)
    AMO_EXTENDED_TYPES(CALL_EXT)
    AMO_BITWISE_TYPES(CALL_BIT)
    REDUCE_ORDERED_TYPES(CALL_RED)
    summed<std::complex<double>>();
    summed<std::complex<float>>();
    of_c<double>();
    of_c<float>();
    CHECK(shmem_sync(SHMEM_TEAM_WORLD) == 0);
    uint64_t *sig = block<uint64_t>(1);
    shmem_signal_add(sig, 2, next);
    shmem_signal_add(ctx, sig, 3, next);
    CHECK(shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 5) == 5);
    shmem_free(sig);
    shmem_ctx_destroy(ctx);
    return test_end("cxx_overloads");
}
