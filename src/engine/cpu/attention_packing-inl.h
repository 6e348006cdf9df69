// Blocks of rows to and from dense, padded, aligned copies in words. For files compiled once per SIMD target.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "cpu/attention_products-inl.h"
#include "cpu/attention_view.h"
#include "cpu/arrays.h"
#include "cpu/lanes16-inl.h"

#if defined(TROIKA_CPU_ATTENTION_PACKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_ATTENTION_PACKING_INL_H_
#undef TROIKA_CPU_ATTENTION_PACKING_INL_H_
#else
#define TROIKA_CPU_ATTENTION_PACKING_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace troika::cpu::HWY_NAMESPACE {

// `count` rows of H elements in memory, `stride` apart.
template <class Element>
struct HeadRows {
  Element* data;
  std::int64_t stride, count, H;
};

// visit(HeadRows) of `count` rows of a head from row `first` on, as the dtype says; pairs are made of halves only.
template <class Kind, class Array, class Visit>
HWY_INLINE void with_rows(const HeadView<Array>& x, std::int64_t first, std::int64_t count, std::int64_t H,
                          const Visit& visit) {
  using Float = std::conditional_t<std::is_const_v<Array>, const float, float>;
  using Half = std::conditional_t<std::is_const_v<Array>, const Bf16, Bf16>;
  if (Kind::kPerWord > 1 || x.dtype == Dtype::bf16)
    return visit(HeadRows<Half>{static_cast<Half*>(x.data) + first, x.row_stride, count, H});
  if constexpr (Kind::kPerWord == 1)
    visit(HeadRows<Float>{static_cast<Float*>(x.data) + first, x.row_stride, count, H});
}

// Asks for `count` rows of a head from row `first` on, to be read, or written where they may be.
template <class Array>
HWY_INLINE void prefetch_rows(const HeadView<Array>& x, std::int64_t first, std::int64_t count, std::int64_t H) {
  constexpr PrefetchTo to = std::is_const_v<Array> ? PrefetchTo::read : PrefetchTo::write;
  for (std::int64_t r = 0; r < count; ++r) prefetch<to>(x.data, first + r * x.row_stride, H, x.dtype);
}

// Widths of dense rows: H up to a whole number of vectors; rows and queries also to a whole number of tiles.
HWY_INLINE std::int64_t padded(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }
HWY_INLINE std::int64_t vector_lanes() { return static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>())); }
HWY_INLINE std::int64_t dense_width(std::int64_t H) { return padded(H, vector_lanes()); }
HWY_INLINE std::int64_t padded_rows(std::int64_t count) {
  return padded(count, std::max<std::int64_t>(vector_lanes(), kTileRows));
}

// Aligned memory of a task, taken piece by piece.
class Scratch {
 public:
  explicit Scratch(std::int64_t floats) : data_(hwy::AllocateAligned<float>(static_cast<std::size_t>(floats))) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  template <class Word = float>
  Word* take(std::int64_t words) {
    taken_ += words;
    return reinterpret_cast<Word*>(data_.get() + taken_ - words);
  }

 private:
  hwy::AlignedFreeUniquePtr<float[]> data_;
  std::int64_t taken_ = 0;
};

// dense[r][h] = x[r][h], words along h; zeros up to padded_rows x dense_width.
template <class Element>
HWY_INLINE void pack_rows(HeadRows<const Element> x, float* dense) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = vector_lanes(), width = dense_width(x.H);
  constexpr std::int64_t ahead = 8;  // short rows
  for (std::int64_t r = 0; r < x.count; ++r) {
    const Element* from = x.data + r * x.stride;
    float* to = dense + r * width;
    std::int64_t h = 0;
    if (r + ahead < x.count)
      prefetch_bytes<PrefetchTo::read>(from + ahead * x.stride, x.H * static_cast<std::int64_t>(sizeof(Element)));
    for (; h + lanes <= x.H; h += lanes) hn::Store(load_floats(d, from + h), d, to + h);
    for (; h < x.H; ++h) to[h] = to_float(from[h]);
    std::fill(to + h, to + width, 0.0f);
  }
  std::fill(dense + x.count * width, dense + padded_rows(x.count) * width, 0.0f);
}

// The same with words along r: for floats that is the same.
template <class Element>
HWY_INLINE void pack_columns(HeadRows<const Element> x, float* dense) {
  pack_rows(x, dense);
}

// Word h of a row of x.
HWY_INLINE float word_at(const float* row, std::int64_t h, float*) { return row[h]; }
HWY_INLINE float word_at(const Bf16* row, std::int64_t h, float*) { return to_float(row[h]); }
HWY_INLINE std::uint32_t word_at(const Bf16* row, std::int64_t h, std::uint32_t*) {
  std::uint32_t word;
  std::memcpy(&word, row + 2 * h, sizeof(word));
  return word;
}

#if TROIKA_CPU_HALF_PAIRS
HWY_INLINE void pack_rows(HeadRows<const Bf16> x, std::uint32_t* dense) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::int64_t lanes = vector_lanes(), pairs = words<HalfPairs>(x.H),
                     width = dense_width(x.H) / HalfPairs::kPerWord;
  for (std::int64_t r = 0; r < x.count; ++r) {
    const auto* from = reinterpret_cast<const std::uint32_t*>(x.data + r * x.stride);
    std::uint32_t* to = dense + r * width;
    std::int64_t i = 0;
    for (; i + lanes <= pairs; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    for (; i < pairs; ++i) to[i] = word_at(x.data + r * x.stride, i, to);
    std::fill(to + i, to + width, 0u);
  }
  std::fill(dense + x.count * width, dense + padded_rows(x.count) * width, 0u);
}

HWY_INLINE void pack_columns(HeadRows<const Bf16> x, std::uint32_t* dense) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<std::uint16_t, decltype(d)> half;
  const std::int64_t lanes = vector_lanes(), width = dense_width(x.H);
  const auto bits = [](const Bf16* p) { return reinterpret_cast<const std::uint16_t*>(p); };
  for (std::int64_t r = 0; r < x.count; r += HalfPairs::kPerWord) {
    const Bf16 *first = x.data + r * x.stride, *second = r + 1 < x.count ? first + x.stride : nullptr;
    std::uint32_t* to = dense + r / HalfPairs::kPerWord * width;
    std::int64_t h = 0;
    for (; h + lanes <= x.H; h += lanes) {
      auto word = hn::PromoteTo(d, hn::LoadU(half, bits(first + h)));
      if (second != nullptr)
        word = hn::Or(word, hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(half, bits(second + h)))));
      hn::Store(word, d, to + h);
    }
    for (; h < x.H; ++h) to[h] = first[h].bits | (second == nullptr ? 0u : std::uint32_t{second[h].bits} << 16);
    std::fill(to + h, to + width, 0u);
  }
}
#endif

// Four words from word h on, as bits of floats.
template <class D, class Element>
HWY_INLINE hn::Vec<D> words_at(D d, const Element* row, std::int64_t h, float*) {
  return load_floats(d, row + h);
}
template <class D>
HWY_INLINE hn::Vec<D> words_at(D d, const Bf16* row, std::int64_t h, std::uint32_t*) {
  const hn::RebindToUnsigned<D> bits;
  return hn::BitCast(d, hn::LoadU(bits, reinterpret_cast<const std::uint32_t*>(row + 2 * h)));
}

// Four words each of four rows become four columns.
template <class Element, class Word>
HWY_INLINE void transpose_4x4(const Element* from, std::int64_t stride, std::int64_t h, Word* to,
                              std::int64_t to_stride = attention_block) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t i = 0; i < 16; ++i)
    to[i % 4 * to_stride + i / 4] = word_at(from + i / 4 * stride, h + i % 4, to);
#else
  const hn::CappedTag<float, 4> d;
  const auto row0 = words_at(d, from, h, to), row1 = words_at(d, from + stride, h, to);
  const auto row2 = words_at(d, from + 2 * stride, h, to), row3 = words_at(d, from + 3 * stride, h, to);
  const auto even_low = hn::InterleaveLower(d, row0, row2), odd_low = hn::InterleaveLower(d, row1, row3);
  const auto even_high = hn::InterleaveUpper(d, row0, row2), odd_high = hn::InterleaveUpper(d, row1, row3);
  auto* floats = reinterpret_cast<float*>(to);
  hn::Store(hn::InterleaveLower(d, even_low, odd_low), d, floats);
  hn::Store(hn::InterleaveUpper(d, even_low, odd_low), d, floats + to_stride);
  hn::Store(hn::InterleaveLower(d, even_high, odd_high), d, floats + 2 * to_stride);
  hn::Store(hn::InterleaveUpper(d, even_high, odd_high), d, floats + 3 * to_stride);
#endif
}

// dense[h][r] = x[r][h], words along h: words(H) x attention_block, zero beyond the rows; at most attention_block rows.
// For pairs H is even.
template <class Kind, class Element>
HWY_INLINE void pack_transposed(HeadRows<const Element> x, typename Kind::Word* dense) {
  const std::int64_t H = words<Kind>(x.H);
  const auto copy = [&](std::int64_t r, std::int64_t h) {
    dense[h * attention_block + r] = word_at(x.data + r * x.stride, h, dense);
  };
  std::int64_t r = 0;
  for (; r + 4 <= x.count; r += 4) {
    std::int64_t h = 0;
    for (; h + 4 <= H; h += 4) transpose_4x4(x.data + r * x.stride, x.stride, h, dense + h * attention_block + r);
    for (; h < H; ++h)
      for (std::int64_t i = 0; i < 4; ++i) copy(r + i, h);
  }
  for (; r < x.count; ++r)
    for (std::int64_t h = 0; h < H; ++h) copy(r, h);
  for (std::int64_t h = 0; h < H && x.count < attention_block; ++h)
    std::fill(dense + h * attention_block + x.count, dense + (h + 1) * attention_block, typename Kind::Word{0});
}

#if TROIKA_CPU_HALF_PAIRS
// to[h][s] = the halves (s, h) of x, words along s, `block / 2` to a row; zeros beyond x.count, which is at most attention_block.
// columns: attention_block / 2 rows, dense.
HWY_INLINE void pack_turned(HeadRows<const Bf16> x, std::uint32_t* columns, std::uint32_t* to) {
  constexpr std::int64_t pairs = attention_block / HalfPairs::kPerWord;
  const std::int64_t width = dense_width(x.H), filled = words<HalfPairs>(x.count);
  pack_columns(x, columns);
  std::fill(columns + filled * width, columns + pairs * width, 0u);
  const auto* from = reinterpret_cast<const Bf16*>(columns);
  for (std::int64_t s = 0; s < pairs; s += 4)
    for (std::int64_t h = 0; h < x.H; h += 4) transpose_4x4(from + 2 * s * width, 2 * width, h, to + h * pairs + s, pairs);
}

// dense[t][h] = x[h][t] of H rows of attention_block floats. H: whole vectors.
HWY_INLINE void turn_back(const float* x, std::int64_t H, float* dense) {
  for (std::int64_t h = 0; h < H; h += 4)
    for (std::int64_t t = 0; t < attention_block; t += 4)
      transpose_4x4(x + h * attention_block, attention_block, t, dense + t * H + h, H);
}
#endif

// The rows that pack_rows left.
template <class Kind, class Element>
HWY_INLINE HeadRows<const typename Kind::Element> copy_of(HeadRows<const Element> x, const typename Kind::Word* rows) {
  return {reinterpret_cast<const typename Kind::Element*>(rows), dense_width(x.H), x.count, x.H};
}

// pack_rows, then pack_transposed from the copy: rows that are far apart in memory share few places in a cache.
template <class Kind, class Element>
HWY_INLINE void pack_both(HeadRows<const Element> x, typename Kind::Word* rows, typename Kind::Word* transposed) {
  pack_rows(x, rows);
  pack_transposed<Kind>(copy_of<Kind>(x, rows), transposed);
}

// y[r][h] = scale_of(r) * dense[r][h].
template <class Element, class ScaleOf>
HWY_INLINE void write_rows(const float* dense, const ScaleOf& scale_of, HeadRows<Element> y) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = vector_lanes(), width = dense_width(y.H);
  for (std::int64_t r = 0; r < y.count; ++r) {
    const float *from = dense + r * width, scale = scale_of(r);
    const auto factor = hn::Set(d, scale);
    Element* to = y.data + r * y.stride;
    std::int64_t h = 0;
    for (; h + lanes <= y.H; h += lanes) store_floats(d, hn::Mul(factor, hn::Load(d, from + h)), to + h);
    const hn::CappedTag<float, 1> one;
    for (; h < y.H; ++h) store_floats(one, hn::Set(one, scale * from[h]), to + h);
  }
}

// y[r][h] += scale * dense[r][h].
HWY_INLINE void add_rows(const float* dense, float scale, HeadRows<float> y) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = vector_lanes(), width = dense_width(y.H);
  const auto factor = hn::Set(d, scale);
  for (std::int64_t r = 0; r < y.count; ++r) {
    const float* from = dense + r * width;
    float* to = y.data + r * y.stride;
    std::int64_t h = 0;
    for (; h + lanes <= y.H; h += lanes)
      hn::StoreU(hn::Add(hn::LoadU(d, to + h), hn::Mul(factor, hn::Load(d, from + h))), d, to + h);
    for (; h < y.H; ++h) to[h] += scale * from[h];
  }
}

}  // namespace troika::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
