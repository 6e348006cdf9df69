// Attention of one new query per sequence over all its keys, each sequence with keys and values of its own.
// Shapes: B sequences, n query heads, k key/value heads (neighbouring query heads read one), H head width, S keys.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace troika::kernels {

struct KeysAndValues {
  at::Tensor k_SkH, v_SkH;  // may be strided views, last dim contiguous
};

// q_BnH dense. All in one dtype; returns out_BnH in it. On the CPU a sequence's bits do not depend on the others.
at::Tensor row_attention(const at::Tensor& q_BnH, const std::vector<KeysAndValues>& sequences);

}  // namespace troika::kernels
