// Rows of an array as kernels work on them: floats, a whole number of 16. A row of another width, or of halves, goes through a
// copy. For files compiled once per SIMD target.
#if defined(TROIKA_CPU_FLOAT_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TROIKA_CPU_FLOAT_ROW_INL_H_
#undef TROIKA_CPU_FLOAT_ROW_INL_H_
#else
#define TROIKA_CPU_FLOAT_ROW_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu/arrays.h"
#include "cpu/lanes16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace troika::cpu {
namespace HWY_NAMESPACE {

class FloatRow {
 public:
  FloatRow(std::int64_t width, Dtype dtype)
      : width_(width),
        dtype_(dtype),
        copy_(static_cast<std::size_t>(width % 16 == 0 && dtype == Dtype::fp32 ? 0 : padded_width(width))) {}

  // The row that begins at element `first` of the array, or the copy with zeros at its end; valid until the next call.
  HWY_INLINE const float* read(const void* array, std::int64_t first) {
    if (copy_.empty()) return static_cast<const float*>(array) + first;
    if (dtype_ == Dtype::fp32) {
      widen(static_cast<const float*>(array) + first);
    } else {
      widen(static_cast<const Bf16*>(array) + first);
    }
    return copy_.data();
  }
  // The values after the row, where there are any.
  void fill(float value) {
    if (!copy_.empty()) std::fill(copy_.begin() + width_, copy_.end(), value);
  }
  // Where to write instead of the row; then call write_back.
  HWY_INLINE float* write(void* array, std::int64_t first) {
    return copy_.empty() ? static_cast<float*>(array) + first : copy_.data();
  }
  HWY_INLINE void write_back(void* array, std::int64_t first) {
    if (copy_.empty()) return;
    if (dtype_ == Dtype::fp32) return narrow(static_cast<float*>(array) + first);
    narrow(static_cast<Bf16*>(array) + first);
  }

 private:
  template <class Element>
  HWY_INLINE void widen(const Element* row) {
    for (std::int64_t j = 0; j < width_; j += 16) store16(load_first(row + j, width_ - j), copy_.data() + j);
  }
  template <class Element>
  HWY_INLINE void narrow(Element* row) {
    for (std::int64_t j = 0; j < width_; j += 16) store_first(load16(copy_.data() + j), row + j, width_ - j);
  }

  std::int64_t width_;
  Dtype dtype_;
  std::vector<float> copy_;
};

// A row of gains, w + added.
class GainRow {
 public:
  GainRow(std::int64_t width, Dtype dtype) : width_(width), row_(width, dtype) {}
  HWY_INLINE const float* read(const void* array, std::int64_t first, float added) {
    const float* w = row_.read(array, first);
    if (added == 0) return w;
    sums_.assign(static_cast<std::size_t>(padded_width(width_)), 0.0f);
    for (std::int64_t j = 0; j < width_; ++j) sums_[static_cast<std::size_t>(j)] = w[j] + added;
    return sums_.data();
  }

 private:
  std::int64_t width_;
  FloatRow row_;
  std::vector<float> sums_;
};

}  // namespace HWY_NAMESPACE
}  // namespace troika::cpu
HWY_AFTER_NAMESPACE();
#endif
