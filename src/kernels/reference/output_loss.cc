#include <ATen/ATen.h>

#include "kernels/linear.h"
#include "kernels/precision.h"
#include "kernels/reference/reference.h"

namespace troika::kernels::reference {
namespace {

constexpr std::int64_t no_loss = -100;

struct Place {
  at::Tensor column_M1;  // the target's column in this part; some column where it lies elsewhere
  at::Tensor here_M1;    // whether it lies in this part
};

Place place_of(const at::Tensor& targets_M, std::int64_t first_row, std::int64_t v) {
  const at::Tensor column_M1 = (targets_M - first_row).unsqueeze(1);
  return {column_M1.clamp(0, v - 1), (column_M1 >= 0).logical_and_(column_M1 < v)};
}

}  // namespace

OutputLossPart output_loss_forward(const at::Tensor& x_MD, const at::Tensor& w_vD, const at::Tensor& targets_M,
                                   std::int64_t first_row, OutputLossSaved* saved) {
  at::Tensor logits_Mv = linear_forward_float(x_MD, w_vD);
  const Place target = place_of(targets_M, first_row, w_vD.size(0));
  const OutputLossPart part{
      at::logsumexp(logits_Mv, {1}),
      logits_Mv.gather(1, target.column_M1).masked_fill_(target.here_M1.logical_not(), 0.0).squeeze(1)};
  if (saved == nullptr) return part;
  if (x_MD.scalar_type() == at::kFloat) {
    *saved = {logits_Mv, {}};
  } else {
    *saved = {to_dtype_of(x_MD, logits_Mv.sub_(part.lse_M.unsqueeze(1))), part.lse_M};
  }
  return part;
}

OutputLossPart output_loss_join(const std::vector<OutputLossPart>& parts) {
  if (parts.size() == 1) return parts.front();
  std::vector<at::Tensor> lses;
  at::Tensor target_M = at::zeros_like(parts.front().target_M);
  for (const OutputLossPart& part : parts) {
    lses.push_back(part.lse_M);
    target_M.add_(part.target_M);
  }
  return {at::logsumexp(at::stack(lses), {0}), target_M};
}

LossSum output_loss_sum(const OutputLossPart& whole, const at::Tensor& targets_M) {
  const at::Tensor counts_M = targets_M != no_loss;
  LossSum sum;
  sum.loss = (whole.lse_M - whole.target_M).mul_(counts_M).sum(at::kDouble).item<double>();
  sum.tokens = counts_M.sum().item<std::int64_t>();
  return sum;
}

at::Tensor output_loss_backward_input(const at::Tensor& w_vD, const at::Tensor& targets_M, std::int64_t first_row,
                                      const at::Tensor& lse_M, double scale, OutputLossSaved& saved) {
  const at::Tensor kept_lse_M = saved.part_lse_M.defined() ? lse_M - saved.part_lse_M : lse_M;
  at::Tensor d_Mv = to_float(saved.logits_Mv).sub_(kept_lse_M.unsqueeze(1)).exp_();
  const Place target = place_of(targets_M, first_row, w_vD.size(0));
  d_Mv.scatter_(1, target.column_M1, d_Mv.gather(1, target.column_M1).sub_(target.here_M1.to(at::kFloat)));
  d_Mv.mul_((targets_M != no_loss).to(at::kFloat).mul_(scale).unsqueeze(1));
  saved = {to_dtype_of(saved.logits_Mv, d_Mv), {}};
  return linear_backward_input(saved.logits_Mv, w_vD);
}

void output_loss_backward_weight(const at::Tensor& x_MD, const OutputLossSaved& saved, const at::Tensor& dw_vD) {
  linear_backward_weight(saved.logits_Mv, x_MD, dw_vD);
}

}  // namespace troika::kernels::reference
