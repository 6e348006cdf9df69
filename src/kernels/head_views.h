// Tensors of heads as the fast bodies read them.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/precision.h"

namespace troika::kernels {

// fp32 whose last dim is contiguous; the tensor itself when it is that already.
inline at::Tensor heads_operand(const at::Tensor& x_BTnH) {
  const at::Tensor x = to_float(x_BTnH);
  return x.stride(3) == 1 ? x : x.contiguous();
}

// cpu::Heads or cpu::MutableHeads of such a tensor, which must outlive it.
template <class View>
View heads_view(const at::Tensor& x_BTnH) {
  return {x_BTnH.data_ptr<float>(), x_BTnH.stride(0), x_BTnH.stride(1), x_BTnH.stride(2)};
}

}  // namespace troika::kernels
