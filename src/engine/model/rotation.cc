#include "model/rotation.h"

#include "tensor/tensor.h"

namespace troika::model {

Rotation::Rotation(const config::ModelSettings& model, const shape::BlockKind& kind)
    : H(model.head_dim), normed_(kind.norms_heads()), eps_(model.norm_eps) {}

QueriesAndKeys Rotation::forward(const tensor::Tensor& w_W, const QueriesAndKeys& x, const kernels::RopeTable& rope,
                                 RotationSaved& saved) const {
  if (!normed_) return {kernels::rope_forward(x.q_BTnH, rope), kernels::rope_forward(x.k_BTkH, rope)};
  return {kernels::qk_norm_rope_forward(x.q_BTnH, of_q(w_W), eps_, rope, &saved.q),
          kernels::qk_norm_rope_forward(x.k_BTkH, of_k(w_W), eps_, rope, &saved.k)};
}

void Rotation::backward(const tensor::Tensor& w_W, const QueriesAndKeys& dy, const QueriesAndKeys& x,
                        const kernels::RopeTable& rope, const RotationSaved& saved, const QueriesAndKeys& dx,
                        const tensor::Tensor& dw_W) const {
  if (!normed_) {
    kernels::rope_backward(dy.q_BTnH, rope, dx.q_BTnH);
    kernels::rope_backward(dy.k_BTkH, rope, dx.k_BTkH);
    return;
  }
  kernels::qk_norm_rope_backward(dy.q_BTnH, x.q_BTnH, of_q(w_W), rope, saved.q, dx.q_BTnH, of_q(dw_W));
  kernels::qk_norm_rope_backward(dy.k_BTkH, x.k_BTkH, of_k(w_W), rope, saved.k, dx.k_BTkH, of_k(dw_W));
}

}  // namespace troika::model
