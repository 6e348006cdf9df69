// A projection of a block, y = x w^T + bias, over a flat piece of a segment's buffer that holds the weight, stored as the
// architecture stores it, and then the bias where there is one.
// Shapes: M rows, I inputs, O outputs of this rank, W = elements(). Dtypes as in kernels/cpu_operands.h; gradients fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "shape/architecture.h"

namespace troika::model {

enum class ProjectionKind { queries_keys_values, other };

class Projection {
 public:
  Projection(const shape::Architecture& architecture, ProjectionKind kind, std::int64_t inputs, std::int64_t outputs);
  std::int64_t elements() const;

  at::Tensor forward(const at::Tensor& w_W, const at::Tensor& x_MI) const;  // y_MO
  // forward in two steps, where the projection's sum over tp ranks lies between them. add_bias works in place.
  at::Tensor multiply(const at::Tensor& w_W, const at::Tensor& x_MI) const;
  void add_bias(const at::Tensor& w_W, const at::Tensor& y_MO) const;

  at::Tensor backward_input(const at::Tensor& w_W, const at::Tensor& dy_MO) const;  // dx_MI
  void backward_weight(const at::Tensor& dw_W, const at::Tensor& dy_MO, const at::Tensor& x_MI) const;

 private:
  at::Tensor weight(const at::Tensor& flat) const;  // [O, I]; a transposed view where it is stored as [I, O]
  at::Tensor bias(const at::Tensor& flat) const;    // [O], undefined where there is none

  shape::Architecture::WeightOrder order_;
  bool has_bias_;
  std::int64_t I, O;
};

}  // namespace troika::model
