// Tensors as module cuda reads them.
#pragma once

#include <cstdint>

#include "cuda/number.h"
#include "cuda/rope.h"
#include "gpu/operations.h"
#include "tensor/tensor.h"

namespace troika::kernels::on_cuda {

namespace dispatch = cuda::dispatch;
using gpu::OnDevice;

inline cuda::Dtype dtype_of(const tensor::Tensor& x) { return x.dtype(); }

// Null of an undefined tensor.
inline void* data_of(const tensor::Tensor& x) { return x.defined() ? x.data() : nullptr; }

inline cuda::Rows rows_of(const tensor::Tensor& x_MD) {
  return {dtype_of(x_MD), x_MD.elements() / x_MD.size(-1), x_MD.size(-1)};
}

inline tensor::Tensor contiguous(const tensor::Tensor& x) { return x.defined() ? x.contiguous() : x; }

// fp32, uninitialised, on x's device. Memory that is let go is used again behind what was queued before.
inline tensor::Tensor workspace(const tensor::Tensor& x, std::int64_t floats) {
  return tensor::empty({floats}, x.type().of(tensor::Dtype::fp32));
}

// Views of [B, T, n, H] whose last dim is contiguous.
template <class View>
View heads_view(const tensor::Tensor& x_BTnH) {
  return {x_BTnH.data(), x_BTnH.stride(0), x_BTnH.stride(1), x_BTnH.stride(2)};
}

}  // namespace troika::kernels::on_cuda
