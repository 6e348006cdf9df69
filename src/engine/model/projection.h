// A projection of a block, y = x w^T + bias, over a flat piece of a segment's buffer that holds the weight, stored as the
// architecture stores it, and then the bias if there is one.
// Shapes: M rows, I inputs, O outputs of this rank, W = elements(). Dtypes as in kernels/cpu_operands.h; gradients fp32.
#pragma once

#include <cstdint>

#include "shape/architecture.h"
#include "tensor/destination.h"
#include "tensor/tensor.h"

namespace troika::model {

enum class ProjectionKind { queries_keys_values, other };

class Projection {
 public:
  Projection(const shape::Architecture& architecture, ProjectionKind kind, std::int64_t inputs, std::int64_t outputs);
  std::int64_t elements() const;
  bool adds_bias() const { return has_bias_; }

  tensor::Tensor forward(const tensor::Tensor& w_W, const tensor::Tensor& x_MI) const;  // y_MO
  // forward in two steps, where the projection's sum over tp ranks lies between them. add_bias works in place. plus_MO: as
  // that of kernels::linear_forward.
  tensor::Tensor multiply(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const tensor::Tensor& plus_MO = {}) const;
  void add_bias(const tensor::Tensor& w_W, const tensor::Tensor& y_MO) const;

  tensor::Tensor backward_input(const tensor::Tensor& w_W, const tensor::Tensor& dy_MO) const;  // dx_MI
  void backward_weight(const tensor::Destination& dw_W, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI) const;

 private:
  tensor::Tensor weight(const tensor::Tensor& flat) const;  // [O, I]; a transposed view where it is stored as [I, O]
  tensor::Tensor bias(const tensor::Tensor& flat) const;    // [O], undefined where there is none

  shape::Architecture::WeightOrder order_;
  bool has_bias_;
  std::int64_t I, O;
};

}  // namespace troika::model
