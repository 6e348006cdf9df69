// Kernels work on whole groups of 16 floats. A row of another width goes through a copy whose end is filled up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troika::cpu {

inline std::int64_t padded_width(std::int64_t width) { return (width + 15) / 16 * 16; }

class PaddedRow {
 public:
  explicit PaddedRow(std::int64_t width)
      : width_(width), copy_(static_cast<std::size_t>(width % 16 == 0 ? 0 : padded_width(width))) {}

  // The row itself, or the copy with zeros at its end; valid until the next call.
  const float* read(const float* row) {
    if (copy_.empty()) return row;
    std::copy_n(row, width_, copy_.data());
    fill(0);
    return copy_.data();
  }
  // The values after the row, where there are any.
  void fill(float value) {
    if (!copy_.empty()) std::fill(copy_.begin() + width_, copy_.end(), value);
  }
  // Where to write instead of `row`; then call write_back.
  float* write(float* row) { return copy_.empty() ? row : copy_.data(); }
  void write_back(float* row) {
    if (!copy_.empty()) std::copy_n(copy_.data(), width_, row);
  }

 private:
  std::int64_t width_;
  std::vector<float> copy_;
};

}  // namespace troika::cpu
