#include <ATen/ATen.h>

#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

at::Tensor gelu_forward(const at::Tensor& x) { return to_dtype_of(x, at::gelu(to_float(x), "tanh")); }

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  return to_dtype_of(x, at::gelu_backward(to_float(dy), to_float(x), "tanh"));
}

}  // namespace troika::kernels::reference
