// Tensors as the CPU kernels (module cpu) read them, and the precision that operations compute in.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "cpu/rope.h"
#include "kernels/rope.h"

namespace troika::kernels {

// Half precision (bf16, fp16) is storage: operations read it, compute in fp32, and write results in the dtype of the
// activations they were given. All activations and weights of one call have one dtype, fp32, bf16 or fp16; saved
// statistics and weight gradients are fp32. Both conversions return the tensor itself when it has the dtype already.
inline at::Tensor to_float(const at::Tensor& x) { return x.to(at::kFloat); }
inline at::Tensor to_dtype_of(const at::Tensor& like, const at::Tensor& x) { return x.to(like.scalar_type()); }

// Tensors of heads: fp32 whose last dim is contiguous; the tensor itself when it is that already.
inline at::Tensor heads_operand(const at::Tensor& x_BTnH) {
  const at::Tensor x = to_float(x_BTnH);
  return x.stride(3) == 1 ? x : x.contiguous();
}

// cpu::Heads or cpu::MutableHeads of such a tensor, which must outlive it.
template <class View>
View heads_view(const at::Tensor& x_BTnH) {
  return {x_BTnH.data_ptr<float>(), x_BTnH.stride(0), x_BTnH.stride(1), x_BTnH.stride(2)};
}

// A rotary table. Keeps alive what `rows` points to.
struct HostRope {
  explicit HostRope(const RopeTable& rope) : cos(rope.cos_TI.contiguous()), sin(rope.sin_TI.contiguous()) {
    rows.cos = cos.data_ptr<float>();
    rows.sin = sin.data_ptr<float>();
    if (!rope.row_BT.defined()) return;
    row = rope.row_BT.contiguous();
    rows.row = row.data_ptr<std::int64_t>();
  }
  at::Tensor cos, sin, row;
  cpu::RopeRows rows;
};

}  // namespace troika::kernels
