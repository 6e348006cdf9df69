// Blocks of rows to and from dense, padded, aligned copies of floats. For files compiled once per SIMD target.
#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "cpu/attention_products-inl.h"
#include "cpu/attention_view.h"
#include "cpu/dtype.h"
#include "cpu/halves-inl.h"
#include "cpu/heads.h"

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

// visit(HeadRows) of `count` rows of a head from row `first` on, as the dtype says.
template <class Array, class Visit>
HWY_INLINE void with_rows(const HeadView<Array>& x, std::int64_t first, std::int64_t count, std::int64_t H,
                          const Visit& visit) {
  using Float = std::conditional_t<std::is_const_v<Array>, const float, float>;
  using Half = std::conditional_t<std::is_const_v<Array>, const Bf16, Bf16>;
  if (x.dtype == Dtype::bf16) return visit(HeadRows<Half>{static_cast<Half*>(x.data) + first, x.row_stride, count, H});
  visit(HeadRows<Float>{static_cast<Float*>(x.data) + first, x.row_stride, count, H});
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
  float* take(std::int64_t floats) {
    taken_ += floats;
    return data_.get() + taken_ - floats;
  }

 private:
  hwy::AlignedFreeUniquePtr<float[]> data_;
  std::int64_t taken_ = 0;
};

// dense[r][h] = scale * x[r][h]; zeros up to padded_rows x dense_width.
template <class Element>
HWY_INLINE void pack_rows(HeadRows<const Element> x, float scale, float* dense) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = vector_lanes(), width = dense_width(x.H);
  const auto factor = hn::Set(d, scale);
  for (std::int64_t r = 0; r < x.count; ++r) {
    const Element* from = x.data + r * x.stride;
    float* to = dense + r * width;
    std::int64_t h = 0;
    for (; h + lanes <= x.H; h += lanes) hn::Store(hn::Mul(factor, load_floats(d, from + h)), d, to + h);
    for (; h < x.H; ++h) to[h] = scale * to_float(from[h]);
    std::fill(to + h, to + width, 0.0f);
  }
  std::fill(dense + x.count * width, dense + padded_rows(x.count) * width, 0.0f);
}

// Four rows at columns [h, h + 4) become four columns.
template <class Element>
HWY_INLINE void transpose_4x4(const Element* from, std::int64_t stride, float scale, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (std::int64_t i = 0; i < 16; ++i)
    to[i % 4 * attention_block + i / 4] = scale * to_float(from[i / 4 * stride + i % 4]);
#else
  const hn::CappedTag<float, 4> d;
  const auto factor = hn::Set(d, scale);
  const auto row0 = hn::Mul(factor, load_floats(d, from)), row1 = hn::Mul(factor, load_floats(d, from + stride));
  const auto row2 = hn::Mul(factor, load_floats(d, from + 2 * stride));
  const auto row3 = hn::Mul(factor, load_floats(d, from + 3 * stride));
  const auto even_low = hn::InterleaveLower(d, row0, row2), odd_low = hn::InterleaveLower(d, row1, row3);
  const auto even_high = hn::InterleaveUpper(d, row0, row2), odd_high = hn::InterleaveUpper(d, row1, row3);
  hn::Store(hn::InterleaveLower(d, even_low, odd_low), d, to);
  hn::Store(hn::InterleaveUpper(d, even_low, odd_low), d, to + attention_block);
  hn::Store(hn::InterleaveLower(d, even_high, odd_high), d, to + 2 * attention_block);
  hn::Store(hn::InterleaveUpper(d, even_high, odd_high), d, to + 3 * attention_block);
#endif
}

// dense[h][r] = scale * x[r][h], H x attention_block, zero beyond the rows; at most attention_block rows.
template <class Element>
HWY_INLINE void pack_transposed(HeadRows<const Element> x, float scale, float* dense) {
  const auto copy = [&](std::int64_t r, std::int64_t h) {
    dense[h * attention_block + r] = scale * to_float(x.data[r * x.stride + h]);
  };
  std::int64_t r = 0;
  for (; r + 4 <= x.count; r += 4) {
    std::int64_t h = 0;
    for (; h + 4 <= x.H; h += 4)
      transpose_4x4(x.data + r * x.stride + h, x.stride, scale, dense + h * attention_block + r);
    for (; h < x.H; ++h)
      for (std::int64_t i = 0; i < 4; ++i) copy(r + i, h);
  }
  for (; r < x.count; ++r)
    for (std::int64_t h = 0; h < x.H; ++h) copy(r, h);
  for (std::int64_t h = 0; h < x.H && x.count < attention_block; ++h)
    std::fill(dense + h * attention_block + x.count, dense + (h + 1) * attention_block, 0.0f);
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
