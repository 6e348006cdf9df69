// Tensors as the CPU kernels (module cpu) read them, and the precision that operations compute in.
#pragma once

#include <cstdint>

#include "cpu/arrays.h"
#include "cpu/rope.h"
#include "kernels/rope.h"
#include "tensor/tensor.h"

namespace troika::kernels {

// Half precision (bf16, fp16) is storage: operations read it, compute in fp32, and write results in the dtype of the
// activations they were given, rounded once. All activations and weights of one call have one dtype, fp32, bf16 or fp16; saved
// statistics and weight gradients are fp32. Products of bf16 are made of halves with sums in fp32 where the processor has units
// for them (cpu/gemm.h). The CPU kernels read and write fp32 and bf16; fp16 passes through fp32.

// These return the tensor itself when it has the dtype already.
inline tensor::Tensor to_float(const tensor::Tensor& x) { return x.to(tensor::Dtype::fp32); }
inline tensor::Tensor to_dtype_of(const tensor::Tensor& like, const tensor::Tensor& x) { return x.to(like.dtype()); }
inline tensor::Tensor cpu_operand(const tensor::Tensor& x) { return x.dtype() == tensor::Dtype::fp16 ? to_float(x) : x; }

// Uninitialised, of cpu_operand's dtype.
inline tensor::Tensor empty_operand(const tensor::Tensor& like, const tensor::Sizes& sizes) {
  return tensor::empty(sizes, like.type().of(like.dtype() == tensor::Dtype::fp16 ? tensor::Dtype::fp32 : like.dtype()));
}
inline tensor::Tensor empty_statistics(const tensor::Tensor& like, const tensor::Sizes& sizes) {
  return tensor::empty(sizes, like.type().of(tensor::Dtype::fp32));
}

// Tensors of heads whose last dim is contiguous; the tensor itself when it is that already.
inline bool is_heads_operand(const tensor::Tensor& x_BTnH) {
  return x_BTnH.dtype() != tensor::Dtype::fp16 && x_BTnH.stride(3) == 1;
}
inline tensor::Tensor heads_operand(const tensor::Tensor& x_BTnH) {
  const tensor::Tensor x = cpu_operand(x_BTnH);
  return x.stride(3) == 1 ? x : x.contiguous();
}

// cpu::Heads or cpu::MutableHeads of such a tensor, which must outlive it.
template <class View>
View heads_view(const tensor::Tensor& x_BTnH) {
  return {x_BTnH.data(), x_BTnH.stride(0), x_BTnH.stride(1), x_BTnH.stride(2), x_BTnH.dtype()};
}
inline cpu::MutableFloatHeads float_heads(const tensor::Tensor& x_BTnH) {
  return {x_BTnH.data<float>(), x_BTnH.stride(0), x_BTnH.stride(1), x_BTnH.stride(2)};
}

// A rotary table. Keeps alive what `rows` points to.
struct HostRope {
  explicit HostRope(const RopeTable& rope) : cos(rope.cos_TI.contiguous()), sin(rope.sin_TI.contiguous()) {
    rows.cos = cos.data<float>();
    rows.sin = sin.data<float>();
    if (!rope.row_BT.defined()) return;
    row = rope.row_BT.contiguous();
    rows.row = row.data<std::int64_t>();
  }
  tensor::Tensor cos, sin, row;
  cpu::RopeRows rows;
};

}  // namespace troika::kernels
