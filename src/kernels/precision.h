// Half precision (bf16, fp16) is storage: operations read it, compute in fp32, and write results in the dtype of the
// activations they were given. All activations and weights of one call have one dtype, fp32, bf16 or fp16; saved
// statistics and weight gradients are fp32. Both conversions return the tensor itself when it has the dtype already.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

inline at::Tensor to_float(const at::Tensor& x) { return x.to(at::kFloat); }
inline at::Tensor to_dtype_of(const at::Tensor& like, const at::Tensor& x) { return x.to(like.scalar_type()); }

}  // namespace troika::kernels
