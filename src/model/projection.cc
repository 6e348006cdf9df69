#include "model/projection.h"

#include <ATen/ATen.h>

#include "kernels/linear.h"

namespace troika::model {

Projection::Projection(const Architecture& architecture, std::int64_t inputs, std::int64_t outputs)
    : order_(architecture.order), bias_(architecture.bias), I(inputs), O(outputs) {}

std::int64_t Projection::elements() const { return O * I + (bias_ == Architecture::Bias::none ? 0 : O); }

at::Tensor Projection::weight(const at::Tensor& flat) const {
  const at::Tensor own = flat.narrow(0, 0, O * I);
  return order_ == Architecture::WeightOrder::out_in ? own.view({O, I}) : own.view({I, O}).t();
}

at::Tensor Projection::bias(const at::Tensor& flat) const {
  return bias_ == Architecture::Bias::none ? at::Tensor() : flat.narrow(0, O * I, O);
}

at::Tensor Projection::forward(const at::Tensor& w_W, const at::Tensor& x_MI) const {
  return kernels::linear_forward(x_MI, weight(w_W), bias(w_W));
}

at::Tensor Projection::product(const at::Tensor& w_W, const at::Tensor& x_MI) const {
  return kernels::linear_forward(x_MI, weight(w_W));
}

void Projection::add_bias(const at::Tensor& w_W, const at::Tensor& y_MO) const {
  if (bias_ != Architecture::Bias::none) y_MO.add_(bias(w_W));
}

at::Tensor Projection::backward_input(const at::Tensor& w_W, const at::Tensor& dy_MO) const {
  return kernels::linear_backward_input(dy_MO, weight(w_W));
}

void Projection::backward_weight(const at::Tensor& dw_W, const at::Tensor& dy_MO, const at::Tensor& x_MI) const {
  kernels::linear_backward_weight(dy_MO, x_MI, weight(dw_W));
  if (bias_ != Architecture::Bias::none) kernels::linear_backward_bias(dy_MO, bias(dw_W));
}

}  // namespace troika::model
