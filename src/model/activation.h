// What stands between the two projections of a feed-forward: SwiGLU, which reads two inputs for an output, or GELU.
// Shapes: M rows, F outputs, U = inputs_per_output * F inputs.
#pragma once

#include <ATen/core/Tensor.h>

#include "shape/architecture.h"

namespace troika::model {

struct Activation {
  int inputs_per_output;
  at::Tensor (*forward)(const at::Tensor& x_MU);                            // y_MF
  at::Tensor (*backward)(const at::Tensor& dy_MF, const at::Tensor& x_MU);  // dx_MU
};

Activation activation_of(const shape::Architecture& architecture);

}  // namespace troika::model
