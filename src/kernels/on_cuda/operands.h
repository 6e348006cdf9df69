// Tensors as module cuda reads them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>

#include <cstdint>

#include "cuda/dtype.h"
#include "cuda/heads.h"
#include "cuda/stream.h"

namespace troika::kernels::on_cuda {

inline cuda::Stream stream_of(const at::Tensor& x) {
  return {c10::cuda::getCurrentCUDAStream(x.device().index()).stream()};
}

inline cuda::Dtype dtype_of(const at::Tensor& x) {
  if (x.scalar_type() == at::kBFloat16) return cuda::Dtype::bf16;
  return x.scalar_type() == at::kHalf ? cuda::Dtype::fp16 : cuda::Dtype::fp32;
}

// Null of an undefined tensor.
inline void* data_of(const at::Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; }

inline at::Tensor contiguous(const at::Tensor& x) { return x.defined() ? x.contiguous() : x; }

// fp32, uninitialised, on x's device. Memory that is let go is used again behind what was queued before.
inline at::Tensor workspace(const at::Tensor& x, std::int64_t floats) {
  return at::empty({floats}, x.options().dtype(at::kFloat));
}

// Views of [B, T, n, H] whose last dim is contiguous.
template <class View>
View heads_view(const at::Tensor& x_BTnH) {
  return {x_BTnH.data_ptr(), x_BTnH.stride(0), x_BTnH.stride(1), x_BTnH.stride(2)};
}

}  // namespace troika::kernels::on_cuda
