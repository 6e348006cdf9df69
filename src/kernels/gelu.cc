#include "kernels/gelu.h"

#include <ATen/ATen.h>

#include "cpu/activation.h"
#include "kernels/cpu_bodies.h"
#include "kernels/precision.h"
#include "kernels/reference/reference.h"
#include "kernels/spaced_rows.h"

namespace troika::kernels {

at::Tensor gelu_forward(const at::Tensor& x) {
  if constexpr (has_cpu_bodies) {
    if (x.is_cpu()) {
      const at::Tensor xf = to_float(x).contiguous(), y = at::empty_like(xf);
      cpu::gelu_forward(xf.numel(), xf.data_ptr<float>(), y.data_ptr<float>());
      return to_dtype_of(x, y);
    }
  }
  return reference::gelu_forward(x);
}

at::Tensor gelu_backward(const at::Tensor& dy, const at::Tensor& x) {
  if constexpr (has_cpu_bodies) {
    if (x.is_cpu()) {
      const at::Tensor dyf = to_float(dy).contiguous(), xf = to_float(x).contiguous();
      const at::Tensor dx = empty_spaced_rows(x.size(0), x.size(1), x.device());
      cpu::gelu_backward(x.size(0), x.size(1), dyf.data_ptr<float>(), xf.data_ptr<float>(), dx.data_ptr<float>(),
                         dx.stride(0));
      return to_dtype_of(x, dx);
    }
  }
  return reference::gelu_backward(dy, x);
}

}  // namespace troika::kernels
