// Rotary positions, alone and after RMSNorm of each head (Qwen3's queries and keys); formulas and their sources in
// kernels/rope.h. Arrays are on the device; activations and the weight have the dtype of the call, the rest is fp32.
// Results do not depend on the device. Shapes: B sequences, T positions, n heads, H head width, even; B T n below 2^31.
#pragma once

#include <cstdint>

#include "cuda/number.h"

namespace troika::cuda {

// Views of heads on a device: element (b, t, head, h) is at data[b * batch_stride + t * row_stride + head *
// head_stride + h].
template <class Element>  // void or const void: of the call's dtype
struct HeadView {
  Element* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;  // elements
};
using Heads = HeadView<const void>;
using MutableHeads = HeadView<void>;

// Cosines and sines in rows of H/2.
struct RopeRows {
  const float *cos = nullptr, *sin = nullptr;
  const std::int64_t* row = nullptr;  // B x T: which row belongs to a position; null: row t
};

struct Rope {
  Dtype dtype = Dtype::fp32;
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  RopeRows rows;
};

enum class Turn { forward, back };

inline constexpr std::int64_t most_normed_head_width = 512;

// H at most most_normed_head_width.
struct QkNormRope {
  Dtype dtype = Dtype::fp32;
  std::int64_t B = 0, T = 0, n = 0, H = 0;
  const void* w = nullptr;  // H
  float added = 0;          // to w
  RopeRows rows;
};

}  // namespace troika::cuda
