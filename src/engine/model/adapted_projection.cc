#include "model/adapted_projection.h"

#include "tensor/tensor.h"

namespace troika::model {

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

tensor::Tensor AdaptedProjection::backward_input(const ProjectionBuffer& w, const tensor::Tensor& dy_MO, const Tokens& tokens,
                                                 LowRankSaved& saved) const {
  tensor::Tensor dx_MI = own_.backward_input(w.own, dy_MO);
  if (adapter_.any()) adapter_.backward_input(w.adapter, dy_MO, tokens, dx_MI, saved);
  return dx_MI;
}

void AdaptedProjection::backward_weight(const ProjectionLeaves& dw, const tensor::Tensor& dy_MO, const tensor::Tensor& x_MI,
                                        const Tokens& tokens, const LowRankSaved& saved) const {
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
