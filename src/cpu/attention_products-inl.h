// C (M x N) from A B in fp32 for blocks that fit the caches, in tiles that fit the registers. M is a multiple of
// kTileRows, N of the vector width: callers pad. A's elements are broadcast, B's and C's rows are read as vectors. Each
// element sums its products in ascending order of the contracted index, whatever tile it falls in. For files compiled
// once per SIMD target.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#if defined(TROIKA_CPU_ATTENTION_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_ATTENTION_PRODUCTS_INL_H_
#undef TROIKA_CPU_ATTENTION_PRODUCTS_INL_H_
#else
#define TROIKA_CPU_ATTENTION_PRODUCTS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr int kTileRows = 4;  // 16 vector registers
#else
constexpr int kTileRows = 8;  // 32
#endif
constexpr int kTileVectors = 2;

// Views of A: element (m, i) with i the contracted index.
struct ByRow {
  const float* data;
  std::int64_t stride;
  HWY_INLINE float at(std::int64_t m, std::int64_t i) const { return data[m * stride + i]; }
};
struct ByColumn {
  const float* data;
  std::int64_t stride;
  HWY_INLINE float at(std::int64_t m, std::int64_t i) const { return data[i * stride + m]; }
};

struct Block {
  float* data;
  std::int64_t stride;
};

// What becomes of a tile's sums.
struct Store {
  template <class D, class V>
  HWY_INLINE V operator()(D, V sum, const float*, std::int64_t) const {
    return sum;
  }
};
struct Add {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, const float* c, std::int64_t) const {
    return hn::Add(hn::Load(d, c), sum);
  }
};
struct ScaleAndAdd {  // row m of C is multiplied first
  const float* factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, const float* c, std::int64_t m) const {
    return hn::MulAdd(hn::Load(d, c), hn::Set(d, factor[m]), sum);
  }
};

struct Span {
  std::int64_t begin, end;
};

template <int kVectors, class A, class Finish>
HWY_INLINE void multiply_tile(const A& a, const float* b, std::int64_t b_stride, Block c, std::int64_t m0, Span span,
                              const Finish& finish) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kTileRows][kVectors];
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[m][j] = hn::Zero(d);
  for (std::int64_t i = span.begin; i < span.end; ++i) {
    hn::Vec<decltype(d)> row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, b + i * b_stride + j * lanes);
#pragma GCC unroll 16
    for (int m = 0; m < kTileRows; ++m) {
      const auto factor = hn::Set(d, a.at(m0 + m, i));
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) sum[m][j] = hn::MulAdd(factor, row[j], sum[m][j]);
    }
  }
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m) {
    float* c_row = c.data + (m0 + m) * c.stride;
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) hn::Store(finish(d, sum[m][j], c_row + j * lanes, m0 + m), d, c_row + j * lanes);
  }
}

template <int kVectors, class A, class Finish, class SpanOf>
HWY_INLINE void multiply_columns(std::int64_t M, const A& a, const float* b, std::int64_t b_stride, Block c,
                                 std::int64_t n, const Finish& finish, const SpanOf& span_of) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const auto tile = [&](auto vectors, std::int64_t m, std::int64_t first) HWY_ATTR {
    const Span span = span_of(m, first, vectors() * lanes);
    if (span.begin < span.end)
      multiply_tile<vectors()>(a, b + first, b_stride, Block{c.data + first, c.stride}, m, span, finish);
  };
  for (std::int64_t m = 0; m < M; m += kTileRows) {
    const Span first = span_of(m, n, lanes);
    if (kVectors == 1 || first.begin < first.end) {
      tile(std::integral_constant<int, kVectors>(), m, n);
    } else {
      for (std::int64_t j = 1; j < kVectors; ++j) tile(std::integral_constant<int, 1>(), m, n + j * lanes);
    }
  }
}

// span_of(m, n, width): the contracted indices that count for rows [m, m + kTileRows) and columns [n, n + width) of C.
// Where it is empty C stays as it is.
template <class A, class Finish, class SpanOf>
HWY_INLINE void multiply(std::int64_t M, std::int64_t N, const A& a, const float* b, std::int64_t b_stride, Block c,
                         const Finish& finish, const SpanOf& span_of) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  std::int64_t n = 0;
  for (; n + kTileVectors * lanes <= N; n += kTileVectors * lanes)
    multiply_columns<kTileVectors>(M, a, b, b_stride, c, n, finish, span_of);
  for (; n < N; n += lanes) multiply_columns<1>(M, a, b, b_stride, c, n, finish, span_of);
}

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
