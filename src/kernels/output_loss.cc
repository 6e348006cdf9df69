#include "kernels/output_loss.h"

#include <ATen/ATen.h>

#include "kernels/linear.h"

namespace troika::kernels {

constexpr std::int64_t no_loss = -100;

LossSum output_loss_forward(const at::Tensor& x_MD, const at::Tensor& w_VD, const at::Tensor& targets_M,
                            OutputLossSaved* saved) {
  const at::Tensor logits_MV = linear_forward(x_MD, w_VD);
  const at::Tensor counts_M = targets_M != no_loss;
  const at::Tensor target_M1 = targets_M.clamp_min(0).unsqueeze(1);
  const at::Tensor losses_M = at::logsumexp(logits_MV, {1}).sub_(logits_MV.gather(1, target_M1).squeeze(1));
  LossSum sum;
  sum.loss = losses_M.mul_(counts_M).sum(at::kDouble).item<double>();
  sum.tokens = counts_M.sum().item<std::int64_t>();
  if (saved != nullptr) saved->logits_MV = logits_MV;
  return sum;
}

at::Tensor output_loss_backward_input(const at::Tensor& w_VD, const at::Tensor& targets_M, double scale,
                                      OutputLossSaved& saved) {
  at::Tensor d_MV = at::softmax(saved.logits_MV, 1);
  const at::Tensor counts_M1 = (targets_M != no_loss).unsqueeze(1);
  const at::Tensor target_M1 = targets_M.clamp_min(0).unsqueeze(1);
  d_MV.scatter_add_(1, target_M1, at::full_like(target_M1, -1.0, d_MV.options()));
  saved.logits_MV = d_MV.mul_(counts_M1.to(at::kFloat).mul_(scale));
  return linear_backward_input(saved.logits_MV, w_VD);
}

void output_loss_backward_weight(const at::Tensor& x_MD, const OutputLossSaved& saved, const at::Tensor& dw_VD) {
  linear_backward_weight(saved.logits_MV, x_MD, dw_VD);
}

}  // namespace troika::kernels
