#include "model/rotation.h"

namespace troika::model {

Rotation::Rotation(std::int64_t head_dim, double eps, const kernels::RopeTable& rope)
    : H(head_dim), eps_(eps), rope_(rope) {}

QueriesAndKeys Rotation::forward(const at::Tensor& w_2H, const QueriesAndKeys& x, RotationSaved& saved) const {
  return {kernels::qk_norm_rope_forward(x.q_BTnH, of_q(w_2H), eps_, rope_, &saved.q),
          kernels::qk_norm_rope_forward(x.k_BTkH, of_k(w_2H), eps_, rope_, &saved.k)};
}

void Rotation::backward(const at::Tensor& w_2H, const QueriesAndKeys& dy, const QueriesAndKeys& x,
                        const RotationSaved& saved, const QueriesAndKeys& dx, const at::Tensor& dw_2H) const {
  kernels::qk_norm_rope_backward(dy.q_BTnH, x.q_BTnH, of_q(w_2H), rope_, saved.q, dx.q_BTnH, of_q(dw_2H));
  kernels::qk_norm_rope_backward(dy.k_BTkH, x.k_BTkH, of_k(w_2H), rope_, saved.k, dx.k_BTkH, of_k(dw_2H));
}

}  // namespace troika::model
