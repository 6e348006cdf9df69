#include "model/projection.h"

#include "kernels/linear.h"
#include "tensor/operations.h"
#include "tensor/tensor.h"

namespace troika::model {

static bool has_bias(const shape::Architecture& architecture, ProjectionKind kind) {
  if (architecture.bias == shape::Architecture::Bias::queries_keys_values)
    return kind == ProjectionKind::queries_keys_values;
  return architecture.bias == shape::Architecture::Bias::everywhere;
}

Projection::Projection(const shape::Architecture& architecture, ProjectionKind kind, std::int64_t inputs,
                       std::int64_t outputs)
    : order_(architecture.order), has_bias_(has_bias(architecture, kind)), I(inputs), O(outputs) {}

std::int64_t Projection::elements() const { return O * I + (has_bias_ ? O : 0); }

tensor::Tensor Projection::weight(const tensor::Tensor& flat) const {
  const tensor::Tensor own = flat.narrow(0, 0, O * I);
  return order_ == shape::Architecture::WeightOrder::out_in ? own.view({O, I}) : own.view({I, O}).t();
}

tensor::Tensor Projection::bias(const tensor::Tensor& flat) const {
  return has_bias_ ? flat.narrow(0, O * I, O) : tensor::Tensor();
}

tensor::Tensor Projection::forward(const tensor::Tensor& w_W, const tensor::Tensor& x_MI) const {
  return kernels::linear_forward(x_MI, weight(w_W), bias(w_W));
}

tensor::Tensor Projection::multiply(const tensor::Tensor& w_W, const tensor::Tensor& x_MI, const tensor::Tensor& plus_MO) const {
  return kernels::linear_forward(x_MI, weight(w_W), {}, plus_MO);
}

void Projection::add_bias(const tensor::Tensor& w_W, const tensor::Tensor& y_MO) const {
  if (has_bias_) tensor::add(y_MO, bias(w_W));
}

tensor::Tensor Projection::backward_input(const tensor::Tensor& w_W, const tensor::Tensor& dy_MO) const {
  return kernels::linear_backward_input(dy_MO, weight(w_W));
}

void Projection::backward_weight(const tensor::Destination& dw_W, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI) const {
  kernels::linear_backward_weight(dy_MO, x_MI, weight(dw_W.elements), dw_W.sum);
  if (has_bias_) kernels::linear_backward_bias(dy_MO, bias(dw_W.elements), dw_W.sum);
}

tensor::Tensor AdaptedProjection::forward(const ProjectionBuffer& w, const tensor::Tensor& x_MI, const Tokens& tokens,
                                          LowRankSaved& saved) const {
  tensor::Tensor y_MO = own_.forward(w.own, x_MI);
  if (adapter_.any()) adapter_.forward(w.adapter, x_MI, tokens, y_MO, saved);
  return y_MO;
}

tensor::Tensor AdaptedProjection::multiply(const ProjectionBuffer& w, const tensor::Tensor& x_MI, const Tokens& tokens,
                                           LowRankSaved& saved) const {
  tensor::Tensor y_MO = own_.multiply(w.own, x_MI);
  if (adapter_.any()) adapter_.forward(w.adapter, x_MI, tokens, y_MO, saved);
  return y_MO;
}

tensor::Tensor AdaptedProjection::backward_input(const ProjectionBuffer& w, const tensor::Tensor& dy_MO,
                                                 const Tokens& tokens, LowRankSaved& saved) const {
  tensor::Tensor dx_MI = own_.backward_input(w.own, dy_MO);
  if (adapter_.any()) adapter_.backward_input(w.adapter, dy_MO, tokens, dx_MI, saved);
  return dx_MI;
}

void AdaptedProjection::backward_weight(const ProjectionLeaves& dw, const tensor::Tensor& dy_MO,
                                        const tensor::Tensor& x_MI, const Tokens& tokens,
                                        const LowRankSaved& saved) const {
  if (trained_) {
    own_.backward_weight(dw.own.open_sum(), dy_MO, x_MI);
    dw.own.close();
  }
  if (adapter_.any()) {
    adapter_.backward_weight(dw.adapter.open_sum(), dy_MO, x_MI, tokens, saved);
    dw.adapter.close();
  }
}

}  // namespace troika::model
