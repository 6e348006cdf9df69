#include <ATen/ATen.h>

#include "kernels/reference/reference.h"

namespace troika::kernels::reference {

at::Tensor log_sum_exp(const at::Tensor& logits_Mv) { return at::logsumexp(logits_Mv, {1}); }

void cross_entropy_gradient(const at::Tensor& logits_Mv, const at::Tensor& lse_M, const at::Tensor& column_M,
                            const at::Tensor& weight_M) {
  const std::int64_t v = logits_Mv.size(1);
  at::Tensor d_Mv = logits_Mv;
  d_Mv.sub_(lse_M.unsqueeze(1)).exp_();
  const at::Tensor here_M1 = (column_M >= 0).logical_and_(column_M < v).to(at::kFloat).unsqueeze(1);
  const at::Tensor column_M1 = column_M.clamp(0, v - 1).unsqueeze(1);
  d_Mv.scatter_(1, column_M1, d_Mv.gather(1, column_M1).sub_(here_M1));
  d_Mv.mul_(weight_M.unsqueeze(1));
}

}  // namespace troika::kernels::reference
