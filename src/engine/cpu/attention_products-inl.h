// C (M x N) from A B, summed in fp32, for blocks that fit the caches, in tiles that fit the registers. A and B hold
// words of a kind: one float, or two halves that follow each other along the contracted index. M is a multiple of
// kTileRows, N of the vector width: callers pad. A's words are broadcast, B's and C's rows are read as vectors. Each
// element sums its products in ascending order of the contracted index, whatever tile it falls in. For files compiled
// once per SIMD target.
#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

#include "cpu/arrays.h"

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

// Kinds of words. store_columns: word j of a row holds element j of each of kPerWord rows. store_rows: kPerWord rows,
// `stride` words apart, hold their own elements.
struct Floats {
  using Element = float;
  using Word = float;
  static constexpr std::int64_t kPerWord = 1;
  static constexpr bool kTiles = false;
  template <class V>
  static HWY_INLINE V multiply_add(V a, V b, V sum) {
    return hn::MulAdd(a, b, sum);
  }
  template <class D>
  static HWY_INLINE void store_columns(D d, const hn::Vec<D> (&x)[kPerWord], Word* to) {
    hn::Store(x[0], d, to);
  }
  template <class D>
  static HWY_INLINE void store_rows(D d, const hn::Vec<D> (&x)[kPerWord], Word* to, std::int64_t) {
    hn::Store(x[0], d, to);
  }
};

#undef TROIKA_CPU_HALF_PAIRS
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
#define TROIKA_CPU_HALF_PAIRS 1
// The instructions of AVX512-BF16, which no target of this library names; only where multiplies_halves() (gemm.h). They
// round to nearest, ties to even, and take subnormal numbers for zero.
struct HalfPairs {
  using Element = Bf16;
  using Word = std::uint32_t;
  static constexpr std::int64_t kPerWord = 2;
  static constexpr bool kTiles = false;
  using V = hn::Vec<hn::ScalableTag<float>>;
  using Words = hn::Vec<hn::ScalableTag<Word>>;
  static HWY_INLINE V multiply_add(Words a, Words b, V sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(b.raw), "v"(a.raw));
    return sum;
  }
  static HWY_INLINE __m512i rounded(const V (&x)[kPerWord]) {  // the first row's elements, then the second's
    __m512i halves;
    asm("vcvtne2ps2bf16 %2, %1, %0" : "=v"(halves) : "v"(x[1].raw), "v"(x[0].raw));
    return halves;
  }
  template <class D>
  static HWY_INLINE void store_columns(D, const V (&x)[kPerWord], Word* to) {
    alignas(64) static constexpr std::uint16_t kInTurn[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                              21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                              11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    _mm512_store_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(kInTurn), rounded(x)));
  }
  template <class D>
  static HWY_INLINE void store_rows(D, const V (&x)[kPerWord], Word* to, std::int64_t stride) {
    const __m512i halves = rounded(x);
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(halves));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + stride), _mm512_extracti64x4_epi64(halves, 1));
  }
};
#else
#define TROIKA_CPU_HALF_PAIRS 0
#endif

// Words that `count` contracted elements fill.
template <class Kind>
HWY_INLINE std::int64_t words(std::int64_t count) {
  return (count + Kind::kPerWord - 1) / Kind::kPerWord;
}

// Views of A: word (m, i) with i the contracted index, in words; from(m, i) begins there.
template <class Kind>
struct ByRow {
  const typename Kind::Word* data;
  std::int64_t stride;
  HWY_INLINE typename Kind::Word at(std::int64_t m, std::int64_t i) const { return data[m * stride + i]; }
  HWY_INLINE ByRow from(std::int64_t m, std::int64_t i) const { return {data + m * stride + i, stride}; }
};
template <class Kind>
struct ByColumn {
  const typename Kind::Word* data;
  std::int64_t stride;
  HWY_INLINE typename Kind::Word at(std::int64_t m, std::int64_t i) const { return data[i * stride + m]; }
  HWY_INLINE ByColumn from(std::int64_t m, std::int64_t i) const { return {data + i * stride + m, stride}; }
};

struct Block {
  float* data;
  std::int64_t stride;
};

// The destination of a tile's sums; from(m) is that of a tile whose first row is row m.
struct Store {
  HWY_INLINE Store from(std::int64_t) const { return {}; }
  template <class D, class V>
  HWY_INLINE V operator()(D, V sum, const float*, std::int64_t) const {
    return sum;
  }
};
struct Add {
  HWY_INLINE Add from(std::int64_t) const { return {}; }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, const float* c, std::int64_t) const {
    return hn::Add(hn::Load(d, c), sum);
  }
};
struct ScaleAndAdd {  // row m of C is multiplied first
  const float* factor;
  HWY_INLINE ScaleAndAdd from(std::int64_t m) const { return {factor + m}; }
  template <class D, class V>
  HWY_INLINE V operator()(D d, V sum, const float* c, std::int64_t m) const {
    return hn::MulAdd(hn::Load(d, c), hn::Set(d, factor[m]), sum);
  }
};

struct Span {
  std::int64_t begin, end;
};

// sum[m][j] += words (m, i) of A by vector j of row i of B, for one i.
template <class Kind, int kVectors, class A, class Tile>
HWY_INLINE void add_word(const A& a, const typename Kind::Word* b, std::int64_t b_stride, std::int64_t i, Tile& sum) {
  const hn::ScalableTag<typename Kind::Word> dw;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(dw));
  hn::Vec<decltype(dw)> row[kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(dw, b + i * b_stride + j * lanes);
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m) {
    const auto factor = hn::Set(dw, a.at(m, i));
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[m][j] = Kind::multiply_add(factor, row[j], sum[m][j]);
  }
}

#if HWY_ARCH_ARM_A64
// A factor is a lane of a vector here, so four words of A are one load instead of four.
template <int kLane, class V>
HWY_INLINE V add_lane(V sum, V row, float32x4_t a) {
  return V(vfmaq_laneq_f32(sum.raw, row.raw, a, kLane));
}

template <class Kind, int kVectors, class Tile>
HWY_INLINE void add_words(const ByColumn<Floats>& a, const float* b, std::int64_t b_stride, std::int64_t count,
                          Tile& sum) {
  const hn::Full128<float> d;
  const float *factors = a.data, *rows = b;
#pragma GCC unroll 2
  for (std::int64_t i = 0; i < count; ++i, factors += a.stride, rows += b_stride) {
    hn::Vec<decltype(d)> row[kVectors];
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) row[j] = hn::Load(d, rows + 4 * j);
#pragma GCC unroll 2
    for (int m = 0; m < kTileRows; m += 4) {
      const float32x4_t four = vld1q_f32(factors + m);
#pragma GCC unroll 4
      for (int j = 0; j < kVectors; ++j) {
        sum[m][j] = add_lane<0>(sum[m][j], row[j], four);
        sum[m + 1][j] = add_lane<1>(sum[m + 1][j], row[j], four);
        sum[m + 2][j] = add_lane<2>(sum[m + 2][j], row[j], four);
        sum[m + 3][j] = add_lane<3>(sum[m + 3][j], row[j], four);
      }
    }
  }
}

template <int kLane, int kVectors, class Tile>
HWY_INLINE void add_lanes(const float32x4_t (&four)[kTileRows], const float* rows, Tile& sum) {
  const hn::Full128<float> d;
#pragma GCC unroll 4
  for (int j = 0; j < kVectors; ++j) {
    const auto row = hn::Load(d, rows + 4 * j);
#pragma GCC unroll 8
    for (int m = 0; m < kTileRows; ++m) sum[m][j] = add_lane<kLane>(sum[m][j], row, four[m]);
  }
}

template <class Kind, int kVectors, class Tile>
HWY_INLINE void add_words(const ByRow<Floats>& a, const float* b, std::int64_t b_stride, std::int64_t count,
                          Tile& sum) {
  std::int64_t i = 0;
  const float *factors = a.data, *rows = b;
  for (; i + 4 <= count; i += 4, factors += 4, rows += 4 * b_stride) {
    float32x4_t four[kTileRows];
#pragma GCC unroll 8
    for (int m = 0; m < kTileRows; ++m) four[m] = vld1q_f32(factors + m * a.stride);
    add_lanes<0, kVectors>(four, rows, sum);
    add_lanes<1, kVectors>(four, rows + b_stride, sum);
    add_lanes<2, kVectors>(four, rows + 2 * b_stride, sum);
    add_lanes<3, kVectors>(four, rows + 3 * b_stride, sum);
  }
  for (; i < count; ++i) add_word<Kind, kVectors>(a, b, b_stride, i, sum);
}
#else
template <class Kind, int kVectors, class A, class Tile>
HWY_INLINE void add_words(const A& a, const typename Kind::Word* b, std::int64_t b_stride, std::int64_t count,
                          Tile& sum) {
  for (std::int64_t i = 0; i < count; ++i) add_word<Kind, kVectors>(a, b, b_stride, i, sum);
}
#endif

// One tile over `count` contracted words, each operand from its first on. A function of its own: inlined into a task it finds no
// registers free for its addresses. Pairs are passed one by one: a pair that the caller puts on its stack in two stores and copies in
// one load waits for both.
template <class Kind, int kVectors, class A, class Finish>
HWY_NOINLINE void multiply_tile(A a, const typename Kind::Word* b, std::int64_t b_stride, std::int64_t count, float* c,
                                std::int64_t c_stride, Finish finish) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kTileRows][kVectors];
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m)
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) sum[m][j] = hn::Zero(d);
  add_words<Kind, kVectors>(a, b, b_stride, count, sum);
#pragma GCC unroll 16
  for (int m = 0; m < kTileRows; ++m) {
    float* c_row = c + m * c_stride;
#pragma GCC unroll 4
    for (int j = 0; j < kVectors; ++j) hn::Store(finish(d, sum[m][j], c_row + j * lanes, m), d, c_row + j * lanes);
  }
}

template <class Kind, int kVectors, class A, class Finish, class SpanOf>
HWY_INLINE void multiply_columns(std::int64_t M, const A& a, const typename Kind::Word* b, std::int64_t b_stride,
                                 Block c, std::int64_t n, const Finish& finish, const SpanOf& span_of) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const auto tile = [&](auto vectors, std::int64_t m, std::int64_t first) HWY_ATTR {
    const Span span = span_of(m, first, vectors() * lanes);
    if (span.begin < span.end) {
      multiply_tile<Kind, vectors()>(a.from(m, span.begin), b + span.begin * b_stride + first, b_stride, span.end - span.begin,
                                     c.data + m * c.stride + first, c.stride, finish.from(m));
    }
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

// span_of(m, n, width): the contracted words that count for rows [m, m + kTileRows) and columns [n, n + width) of C.
// Where it is empty C stays as it is.
template <class Kind, class A, class Finish, class SpanOf, std::enable_if_t<!Kind::kTiles, int> = 0>
HWY_INLINE void multiply(std::int64_t M, std::int64_t N, const A& a, const typename Kind::Word* b,
                         std::int64_t b_stride, Block c, const Finish& finish, const SpanOf& span_of) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  std::int64_t n = 0;
  for (; n + kTileVectors * lanes <= N; n += kTileVectors * lanes)
    multiply_columns<Kind, kTileVectors>(M, a, b, b_stride, c, n, finish, span_of);
  for (; n < N; n += lanes) multiply_columns<Kind, 1>(M, a, b, b_stride, c, n, finish, span_of);
}

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
