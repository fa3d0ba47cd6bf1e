// simd_kernels.c's kernels in Highway (libhwy-dev), for the one target that the compiler is told of.
#include <hwy/highway.h>

#include "simd_peers.h"

HWY_BEFORE_NAMESPACE();
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
const hn::ScalableTag<float> f;
const hn::RebindToSigned<decltype(f)> s;

__attribute__((noinline, aligned(64))) void saxpy(float *y, const float *x, float a, size_t n) {
    const auto va = hn::Set(f, a);
    size_t i = 0;
    for (; i + hn::Lanes(f) <= n; i += hn::Lanes(f))
        hn::StoreU(hn::MulAdd(va, hn::LoadU(f, x + i), hn::LoadU(f, y + i)), f, y + i);
    for (; i < n; i++) y[i] = a * x[i] + y[i];
}

__attribute__((noinline, aligned(64))) float dot(const float *x, const float *y, size_t n) {
    const size_t lanes = hn::Lanes(f);
    auto s0 = hn::Zero(f), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;
    for (; i + 4 * lanes <= n; i += 4 * lanes) {
        s0 = hn::MulAdd(hn::LoadU(f, x + i), hn::LoadU(f, y + i), s0);
        s1 = hn::MulAdd(hn::LoadU(f, x + i + lanes), hn::LoadU(f, y + i + lanes), s1);
        s2 = hn::MulAdd(hn::LoadU(f, x + i + 2 * lanes), hn::LoadU(f, y + i + 2 * lanes), s2);
        s3 = hn::MulAdd(hn::LoadU(f, x + i + 3 * lanes), hn::LoadU(f, y + i + 3 * lanes), s3);
    }
    float sum = hn::GetLane(hn::SumOfLanes(f, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < n; i++) sum += x[i] * y[i];
    return sum;
}

__attribute__((noinline, aligned(64))) void mandelbrot(int32_t *counts, float x0, float step, float y, int n,
                                                       int most) {
    const auto ci = hn::Set(f, y), four = hn::Set(f, 4.0f), two = hn::Set(f, 2.0f);
    const int lanes = static_cast<int>(hn::Lanes(f));
    for (int i = 0; i + lanes <= n; i += lanes) {
        const auto at = hn::Iota(f, static_cast<float>(i));
        const auto cr = hn::MulAdd(at, hn::Set(f, step), hn::Set(f, x0));
        auto zr = hn::Zero(f), zi = hn::Zero(f);
        auto count = hn::Zero(s);
        for (int k = 0; k < most; k++) {
            const auto rr = hn::Mul(zr, zr), ii = hn::Mul(zi, zi);
            const auto in = hn::Le(hn::Add(rr, ii), four);
            if (hn::AllFalse(f, in)) break;
            count = hn::Sub(count, hn::VecFromMask(s, hn::RebindMask(s, in)));
            zi = hn::MulAdd(hn::Mul(two, zr), zi, ci);
            zr = hn::Add(hn::Sub(rr, ii), cr);
        }
        hn::StoreU(count, s, counts + i);
    }
}
}  // namespace HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

extern "C" {
void highway_saxpy(float *y, const float *x, float a, size_t n) { HWY_STATIC_DISPATCH(saxpy)(y, x, a, n); }
float highway_dot(const float *x, const float *y, size_t n) { return HWY_STATIC_DISPATCH(dot)(x, y, n); }
void highway_mandelbrot(int32_t *counts, float x0, float step, float y, int n, int most) {
    HWY_STATIC_DISPATCH(mandelbrot)(counts, x0, step, y, n, most);
}
}
