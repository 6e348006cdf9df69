// The activation between the two projections of a feed-forward: SwiGLU, which reads two inputs for an output, or GELU.
// Shapes: M rows, F outputs, U = inputs_per_output * F inputs.
#pragma once

#include <cstdint>

#include "shape/architecture.h"
#include "tensor/tensor.h"

namespace troika::model {

struct Activation {
  std::int64_t inputs_per_output;
  tensor::Tensor (*forward)(const tensor::Tensor& x_MU);                            // y_MF
  tensor::Tensor (*backward)(const tensor::Tensor& dy_MF, const tensor::Tensor& x_MU);  // dx_MU
};

Activation activation_of(const shape::BlockKind& kind);

}  // namespace troika::model
