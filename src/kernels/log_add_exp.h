// log(exp(a) + exp(b)) of each element, -inf included. libtorch's own rounds otherwise at the end of a thread's share of the
// elements.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

at::Tensor log_add_exp(const at::Tensor& a, const at::Tensor& b);

}  // namespace troika::kernels
